// The last part of a release: tags on what push.ts has stored and signed, and then the release page.
//   node images/release/tag.ts --version v1.2.3 --registry ghcr.io/owner --built FOLDER --files FOLDER
// After an interruption the same line continues where it ended.
import { resolve } from 'node:path'
import { RELEASED_ARCHITECTURES } from '../tools/released.ts'
import { readChangelogs, releaseNotes } from './notes.ts'
import { GitHubPage } from './page.ts'
import { releaseFromArguments } from './release.ts'
import { tagRelease } from './steps.ts'

const { GITHUB_REPOSITORY } = process.env
if (GITHUB_REPOSITORY === undefined) throw new Error('GITHUB_REPOSITORY is not set: it names the release page')
const usage = 'node images/release/tag.ts --version v1.2.3 --registry HOST/OWNER --built FOLDER --files FOLDER'
const release = releaseFromArguments(usage, RELEASED_ARCHITECTURES.length)
const { version, registry: storage, subjects } = release
const notes = releaseNotes(readChangelogs(resolve(import.meta.dirname, '../..')), version.slice(1))

await tagRelease(release, { storage, page: new GitHubPage(GITHUB_REPOSITORY, version), notes })
for (const { repository, tag } of subjects) process.stdout.write(`${repository}:${tag}\n`)
