/** Text as XML shows it, in elements and in quoted attributes. */
export const escapeXml = (text: string): string => text.replace(/[&<>"']/g, mark => `&#${mark.charCodeAt(0)};`);

/** One element with text in it. `attributes` is XML already. */
export const element = (name: string, text: string | number, attributes = ''): string =>
  `<${name}${attributes && ` ${attributes}`}>${escapeXml(String(text))}</${name}>`;

/** A whole document. `content` is XML already. */
export const xmlDocument = (root: string, content: string[], attributes = ''): string =>
  [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<${root}${attributes && ` ${attributes}`}>`,
    ...content,
    `</${root}>`,
    '',
  ].join('\n');

export const XML = 'application/xml; charset=utf-8';
