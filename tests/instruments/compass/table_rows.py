"""Rows of tables by the names of their columns."""


class Row(dict):
    """A row whose cells are attributes."""

    def __getattr__(self, name):
        return self[name]


def rows_of(table):
    names = [column.name for column in table.columns]
    return [Row(zip(names, row, strict=True)) for row in table.rows]


def row_of(table, **wanted):
    """The only row with these cells."""
    (found,) = [row for row in rows_of(table) if all(row[name] == cell for name, cell in wanted.items())]
    return found


def of_map(table, key):
    """The row of ``method@target``, of a method without a target, or of a baseline."""
    method, _, target = key.partition("@")
    return row_of(table, method=method, target=target)
