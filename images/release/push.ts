// Stores and signs a release. Nothing that it does is found by a name yet: tags and the release page come with tag.ts.
//   node images/release/push.ts --version v1.2.3 --registry ghcr.io/owner --built FOLDER --files FOLDER
// After an interruption the same line continues where it ended. GITHUB_REPOSITORY names who must have signed.
import { appendFileSync } from 'node:fs'
import { RELEASED_ARCHITECTURES } from '../tools/released.ts'
import { Cosign, keyless } from './cosign.ts'
import { releaseFromArguments } from './release.ts'
import { pushRelease } from './steps.ts'

const { GITHUB_REPOSITORY, GITHUB_OUTPUT } = process.env
if (GITHUB_REPOSITORY === undefined) throw new Error('GITHUB_REPOSITORY is not set: it names who must have signed')
const usage = 'node images/release/push.ts --version v1.2.3 --registry HOST/OWNER --built FOLDER --files FOLDER'
const release = releaseFromArguments(usage, RELEASED_ARCHITECTURES.length)
await pushRelease(release, release.registry, new Cosign(keyless(GITHUB_REPOSITORY)))

const { subjects, host } = release
const names = subjects.map(({ repository, digest }) => ({ name: `${host}/${repository}`, digest }))
for (const { name, digest } of names) process.stdout.write(`${name}@${digest}\n`)
if (GITHUB_OUTPUT !== undefined) appendFileSync(GITHUB_OUTPUT, `subjects=${JSON.stringify(names)}\n`)
