"""Questions to the client during a call: to its person in forms (elicitation), to its model by sampling."""
