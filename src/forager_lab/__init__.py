"""The laboratory: it measures how well crawling strategies find the pages of a topic, on webs whose truth is known.

A web is recorded (pages with labels, in a folder) or procedural (made from a seed). A *trial* says what the critic
learns from and where a crawl starts. A *cell* is one crawl: one strategy in one trial. An *experiment* has the cells of
several strategies on one web; a *matrix* has several experiments. From the records of the crawls come figures, tables,
pictures and pages. The crawler, `forager`, never imports this package.

Where to begin:

    forager demo                                two strategies side by side, in a minute
    forager lab run --web procedural --topic Science --strategies breadth-first,best-first,oracle

    webs/            what can be crawled: recorded webs, the procedural web, and a server for it
    protocol         the rules of a trial (open first); level_trials: another kind of trial
    experiment       plans and their cells; laboratory: a web with its parsed pages and its link graph
    metrics          figures of single crawls; results: all figures of an experiment
    report           the text table and the HTML report; plots: its pictures
    matrix           many experiments from one file; cells: finished crawls on disk; comparison: their page
    bootstrap        which differences are real; quality: how good the critic is
    oracles          strategies that are told the truth; rivals/: strategies of others, told what ours are
    workers          several processes; demo: `forager demo`
    cli/             the commands
"""
