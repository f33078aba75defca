"""Who may use a server over HTTP: tokens of ours and of an OpenID Connect issuer, hosts, and who has signed in."""
