/** A picture of these shapes, which begin 60 below its top, with a title and a line below it. */
export function svg(title, subtitle, [width, height], shapes) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="12" y="24" font-size="14" font-weight="bold">${escaped(title)}</text>`,
    `<text x="12" y="42">${escaped(subtitle)}</text>`,
    ...shapes,
    '</svg>\n',
  ].join('\n');
}

export function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
