"""How `version_1.sql` was made: a project as it was before texts and redirects had a place of their own.

    python tests/store/old/make_version_1.py > tests/store/old/version_1.sql

The flat files that belong to it are made by the test, from the lengths in the table `file`.
"""

from __future__ import annotations

import sqlite3

from forager.store.schema import STEPS

PROJECT = "6f2f0f0e-6f0c-4f8f-9a53-0d7f2c6f1a01"


def main() -> None:
    db = sqlite3.connect(":memory:")
    STEPS[0](db)
    db.execute("UPDATE project SET id = ?", (PROJECT,))
    db.execute("INSERT INTO session VALUES (1, 'seeds = []', '0.1', '2024-01-01T00:00:00.000000+00:00', NULL, '')")
    db.execute("INSERT INTO host VALUES (0, 'old.test')")
    db.executemany("INSERT INTO url VALUES (?, 0, ?, ?)", [(i, f"http://old.test/{i}", i / 2) for i in range(4)])
    db.executemany("INSERT INTO file VALUES (?, ?)", [("links.bin", 56)])
    for seq in range(2):
        judged = (0.5 + seq / 10, 0.4, bytes(8), "nb-0", "")
        told = (f"2024-01-01T00:00:0{seq}.000000+00:00", 0.25, f"Old page {seq}")
        places = (1 + seq * 2, 3 + seq, seq * 28, 28, None, None, None, None)  # new URLs: 1 and 2, then 3
        row = (seq, 1, seq, seq, "page", "", "", 200, seq - 1, seq, 1.0, *judged, *told, *places)
        db.execute(f"INSERT INTO visit VALUES ({', '.join('?' * len(row))})", row)
    db.commit()
    print("\n".join(db.iterdump()))
    print("PRAGMA user_version = 1;")
    db.close()


if __name__ == "__main__":
    main()
