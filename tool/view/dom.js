// Elements of the page.

/** An element with text or children; text is never read as HTML. */
export function element(tag, content, attributes = {}) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...(Array.isArray(content) ? content : [content]));
  return made;
}

export const table = (rows) => element("table", rows.map((row) => element("tr", row.map((cell) => element("td", cell)))));
