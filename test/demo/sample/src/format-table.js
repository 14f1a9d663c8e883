/**
 * Lines of text with aligned columns: numbers to the right, all else to the left.
 *
 * @param {string[]} header
 * @param {Array<Array<string|number>>} rows
 * @returns {string}
 */
function formatTable(header, rows) {
  var widths = header.map(function (name, column) {
    var cells = rows.map(function (row) {
      return String(row[column]).length;
    });
    return Math.max.apply(null, cells.concat(name.length));
  });
  return [header].concat(rows).map(line).join('\n');

  function line(row) {
    var cells = row.map(function (cell, column) {
      if (typeof cell == 'number') return String(cell).padStart(widths[column]);
      return cell.padEnd(widths[column]);
    });
    return cells.join('  ').trimEnd();
  }
}

module.exports = formatTable;
