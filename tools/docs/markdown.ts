/** Returns a Markdown table. Pipes in the cells are escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}

export const code = (text: string): string => `\`${text}\``

/** Returns the text of a generated section. Undefined if the document lacks the section. */
export function sectionOf(document: string, name: string): string | undefined {
  return markedSection(name).exec(document)?.[2]?.trim()
}

/** Returns the document with another text in the section. */
export function withSection(document: string, name: string, text: string): string {
  const section = markedSection(name)
  if (!section.test(document)) throw new Error(`no section ${name}`)
  return document.replace(section, (_, begin: string, _before, end: string) => `${begin}\n${text}\n${end}`)
}

/** Returns the document with a new empty section and its heading, after the section `after`. */
export function withNewSection(document: string, after: string, { heading, name }: NewSection): string {
  const section = `\n\n${heading}\n\n<!-- made from the code: ${name} -->\n\n<!-- end -->`
  return document.replace(markedSection(after), (match: string) => match + section)
}

interface NewSection {
  readonly heading: string
  readonly name: string
}

/** Returns the names of the generated sections of a document, in order. */
export function sectionNames(document: string): readonly string[] {
  return [...document.matchAll(/^<!-- made from the code: ([\w-]+) -->$/gm)].map(([, name = '']) => name)
}

function markedSection(name: string): RegExp {
  return new RegExp(`(<!-- made from the code: ${name} -->\\n)([\\s\\S]*?)(\\n<!-- end -->)`)
}
