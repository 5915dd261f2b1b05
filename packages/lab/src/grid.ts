/** Columns as wide as their widest cell, the first to the left and the others to the right. */
export const grid = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)))
  return rows
    .map((row) =>
      widths
        .map((width, column) => {
          const cell = row[column] ?? ""
          return column === 0 ? cell.padEnd(width) : cell.padStart(width)
        })
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}
