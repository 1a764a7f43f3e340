import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { systemCodeOf } from '@csi-sidecars/base'

const FOLDER = resolve(import.meta.dirname, '../corpus')

/** The kept inputs of a reader: a line each, as JSON whose characters are the bytes. */
export async function readCorpus(reader: string): Promise<readonly Buffer[]> {
  try {
    const lines = (await readFile(fileOf(reader), 'utf8')).split('\n')
    return lines.filter((line) => line !== '').map((line) => Buffer.from(String(JSON.parse(line)), 'latin1'))
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return []
    throw error
  }
}

export async function writeCorpus(reader: string, inputs: readonly Buffer[]): Promise<void> {
  const lines = [...new Set(inputs.map(textOf))].toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1))
  await writeFile(fileOf(reader), lines.map((line) => `${line}\n`).join(''))
}

/** An input as it is stored in a corpus. */
export function textOf(input: Buffer): string {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(input.toString('latin1')).replace(/[\x7f-\xff]/g, escaped)
}

function fileOf(reader: string): string {
  return join(FOLDER, `${reader}.jsonl`)
}
