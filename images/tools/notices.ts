import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BundledPackage, ROOT } from './bundle.ts'

/** The licences that a sidecar may contain. Do not add one without a decision of the maintainers. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT']

/** Returns the licences of all packages in a bundle and of Node.js, as one text. */
export function noticesOf(packages: readonly BundledPackage[]): string {
  const node = section('Node.js and what is in it', nodeLicence())
  return `${packageNotices(packages)}\n${node}`
}

/** Returns the licences of all packages in a bundle. Throws for a licence that is not allowed. */
export function packageNotices(packages: readonly BundledPackage[]): string {
  const notices = packages.map((one) => {
    const foreign = licencesIn(one.licence).filter((id) => !ALLOWED.includes(id))
    if (foreign.length > 0) throw new Error(`${one.name} ${one.version} is licensed under ${foreign.join(', ')}`)
    return section(`${one.name} ${one.version} (${one.licence})`, licenceText(one))
  })
  return `This program contains the following works.\n\n${notices.join('\n')}`
}

/** Returns the licence IDs in an SPDX expression. */
export function licencesIn(expression: string): readonly string[] {
  return expression.split(/[\s()]+/).filter((word) => word !== '' && !['AND', 'OR', 'WITH'].includes(word))
}

function section(title: string, text: string): string {
  return `${'='.repeat(80)}\n${title}\n${'='.repeat(80)}\n\n${text.trim()}\n`
}

/** Returns the licence files of a package. If it has none, returns the standard text of each of its licences. */
function licenceText({ folder, licence }: BundledPackage): string {
  const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|notice|copying)(?:[-.]\w+)*$/i.test(file))
  if (files.length > 0) return files.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n')
  return licencesIn(licence).map(standardText).join('\n\n')
}

function standardText(id: string): string {
  const file = id === 'Apache-2.0' ? join(ROOT, 'LICENSE') : join(import.meta.dirname, '../licences', `${id}.txt`)
  return readFileSync(file, 'utf8').trim()
}

/** Returns the licence of Node.js, or the web address of the licence if this Node.js has no licence file. */
function nodeLicence(): string {
  const file = join(process.env['BUILD_NODE'] || process.execPath, '../../LICENSE')
  return existsSync(file) ? readFileSync(file, 'utf8') : 'https://github.com/nodejs/node/blob/main/LICENSE'
}
