"""What the tests are run on: small problems, catalogs, plans and random cases, each built once.

- `files`: a small problem with catalog and prices as YAML, and one that asks for a whole bill.
- `catalog`, `known_plans`, `tampering`: a catalog by hand, solved plans over it, and ways to
  change one figure of them.
- `requests`: problems for answers worked out by hand; `random_cases`, `random_jobs`: one per seed.
- `solved`, `commands`: shipped problems solved, and commands run, in this process.
"""
