"""Terms of pages, their lexical profiles, and the levels of a topic made of them."""
