// Writes the files that a release ships in addition to images. Run it from the root after `npm run build`:
//   npm exec -- node images/tools/main.ts executables [--out FOLDER]   for this machine, with licences and checksums
//   npm exec -- node images/tools/main.ts programs [--out FOLDER]      archives of kubectl-csi and of the npm packages, krew.yaml
//   npm exec -- node images/tools/main.ts krew [--out FOLDER]          krew.yaml again, with the archives of other machines
//   npm exec -- node images/tools/main.ts npm [csi-devcluster|csi-driver-test] [--out FOLDER]   a folder for npm pack
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readArguments } from '@csi-sidecars/command'
import { ROOT, releaseVersion } from './bundle.ts'
import { makeExecutables } from './executables.ts'
import { makeNpmPackage } from './npm-package.ts'
import { KREW, krewManifest, makePrograms } from './programs.ts'

const USAGE = 'npm exec -- node images/tools/main.ts executables|programs|krew|npm [PROGRAM] [--out FOLDER]'

const options = { out: { type: 'string' } } as const
const { values, positionals } = readArguments(USAGE, { options, allowPositionals: true })
const [artifact = '', program] = positionals
const out = resolve(values.out ?? join(ROOT, '.cache', artifact === 'npm' ? 'npm-package' : 'release'))

function krew(): readonly string[] {
  writeFileSync(join(out, 'krew.yaml'), krewManifest(readFileSync(KREW, 'utf8'), out))
  return ['krew.yaml']
}

const MAKERS: Readonly<Record<string, () => readonly string[]>> = {
  executables: () => makeExecutables(out, releaseVersion()),
  programs: () => [...makePrograms(out), ...krew()],
  krew,
  npm: () => {
    makeNpmPackage(out, program)
    return ['']
  },
}

const make = Object.hasOwn(MAKERS, artifact) ? MAKERS[artifact] : undefined
if (make === undefined) {
  process.stderr.write(`usage: ${USAGE}\n`)
  process.exitCode = 2
} else for (const file of make()) process.stdout.write(`${join(out, file)}\n`)
