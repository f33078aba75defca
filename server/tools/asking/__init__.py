"""What is asked of the client during a call: of its person in forms (elicitation), of its model by sampling."""
