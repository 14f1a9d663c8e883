/**
 * Rows by their value in one column, in the order in which the values first appear.
 *
 * @param {Object[]} rows
 * @param {string} column
 * @returns {Map<string, Object[]>}
 */
function groupBy(rows, column) {
  var groups = new Map();
  rows.forEach(function (row) {
    var key = row[column];
    if (groups.get(key) == undefined) groups.set(key, []);
    groups.get(key).push(row);
  });
  return groups;
}

module.exports = groupBy;
