/**
 * Reads CSV text with a header row. Fields may be quoted; a doubled quote inside quotes is a quote.
 *
 * @param {string} text
 * @returns {Object[]} one object a row, by column name
 */
function parseCsv(text) {
  var rows = [];
  var row = [];
  var field = '';
  var quoted = false;
  for (var i = 0; i < text.length; i++) {
    var c = text[i];
    if (quoted) {
      if (c == '"' && text[i + 1] == '"') {
        field += '"';
        i++;
      } else if (c == '"') {
        quoted = false;
      } else {
        field += c;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      row.push(field);
      field = '';
    } else if (c == '\n') {
      row.push(field);
      rows.push(row);
      row = [];
      field = '';
    } else if (c != '\r') {
      field += c;
    }
  }
  if (field != '' || row.length > 0) {
    row.push(field);
    rows.push(row);
  }
  var header = rows.shift() || [];
  return rows.map(function (values) {
    var entry = {};
    header.forEach(function (name, column) {
      entry[name] = values[column];
    });
    return entry;
  });
}

module.exports = parseCsv;
