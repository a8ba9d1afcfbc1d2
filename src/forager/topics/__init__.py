"""From what a user says to a critic.

examples       the pages a critic is trained with: from URLs, files, WARC files, a directory, and labels
topic_critic   the critic of a project: gathers the examples, trains, and says how well it went
directory/     directories of topics, such as the Open Directory: read, keep in one file, prune to classes

What people say about pages lies lower, in `forager.store.verdicts`.
"""
