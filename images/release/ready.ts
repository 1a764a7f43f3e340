// Whether a tag may be released: node images/release/ready.ts TAG
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readChangelogs } from './notes.ts'
import { whyNotReady } from './readiness.ts'

const [tag = ''] = process.argv.slice(2)
const root = resolve(import.meta.dirname, '../..')
const readJson = <T>(file: string): T => JSON.parse(readFileSync(join(root, file), 'utf8')) as T
const { version } = readJson<{ version: string }>('apps/attacher/package.json')
const pre = '.changeset/pre.json'
const { changesets: named } = existsSync(join(root, pre)) ? readJson<{ changesets: string[] }>(pre) : { changesets: [] }
const changesets = readdirSync(join(root, '.changeset'))
for (const reason of whyNotReady({ tag, version, changesets, named, changelogs: readChangelogs(root) })) {
  process.stderr.write(`${tag} cannot be released: ${reason}\n`)
  process.exitCode = 1
}
