"""Forager: a focused web crawler."""
