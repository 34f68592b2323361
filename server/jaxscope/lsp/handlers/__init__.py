"""One file a request. A handler takes the session and the parameters and answers from what is known."""
