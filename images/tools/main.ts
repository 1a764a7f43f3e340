// What a release ships. Run from the root after `npm run build`:
//   npm exec -- node images/tools/main.ts context [--out FOLDER]                 what the Dockerfile copies
//   npm exec -- node images/tools/main.ts sbom [--out FOLDER]                    a bill of materials for each image
//   npm exec -- node images/tools/main.ts npm [--out FOLDER]                     the embedded cluster, for npm pack
//   npm exec -- node images/tools/main.ts programs [--out FOLDER]                kubectl-csi, krew.yaml, csi-devcluster
//   npm exec -- node images/tools/main.ts node --checksums FILE --archive FILE   whether this Node.js is its project's
//   npm exec -- node images/tools/main.ts executables [--out FOLDER] [--arch x64,arm64]   before programs, which packs one
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readArguments } from '@csi-sidecars/testkit'
import { ROOT, readBundle, releaseVersion, SIDECARS } from './bundle.ts'
import { committedAt } from './commit.ts'
import { ARCHITECTURE, makeContext } from './context.ts'
import { ARCHITECTURES, type Architecture, makeExecutables } from './executables.ts'
import { krewManifest } from './krew.ts'
import { debianParts, lackingForLibraries } from './libraries.ts'
import { nodeOrigin, whyNotPublished } from './node-origin.ts'
import { makeNpmPackage } from './npm-package.ts'
import { KREW, makePrograms } from './programs.ts'
import { sbomOf } from './sbom.ts'

const USAGE =
  'npm exec -- node images/tools/main.ts context|sbom|node|npm|programs|executables [--out FOLDER] [--arch x64,arm64] ' +
  '[--checksums FILE --archive FILE]'

const { values, positionals } = readArguments(USAGE, {
  options: {
    out: { type: 'string' },
    arch: { type: 'string', default: process.arch },
    checksums: { type: 'string' },
    archive: { type: 'string' },
  },
  allowPositionals: true,
})

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}
const outOf = (usual: string): string => resolve(values.out ?? join(ROOT, '.cache', usual))

switch (positionals[0]) {
  case 'context': {
    needLibraries()
    makeContext(outOf('image-context'))
    say(outOf('image-context'))
    break
  }
  case 'sbom': {
    needLibraries()
    const folder = outOf('release')
    mkdirSync(folder, { recursive: true })
    const debian = debianParts(process.execPath)
    const common = { version: releaseVersion(), createdAt: committedAt(), node: nodeOrigin(), debian }
    for (const name of SIDECARS) {
      const sbom = sbomOf({ bundle: readBundle(name), ...common })
      const file = join(folder, `${name}-${releaseVersion()}-image-${ARCHITECTURE}.spdx.json`)
      writeFileSync(file, `${JSON.stringify(sbom, null, 2)}\n`)
      say(file)
    }
    break
  }
  case 'node': {
    const { checksums, archive } = values
    if (checksums === undefined || archive === undefined) throw new Error('--checksums and --archive are required')
    const reason = whyNotPublished(process.execPath, { checksums, archive })
    if (reason !== undefined) throw new Error(reason)
    say(`${nodeOrigin().name} has the Node.js of ${archive}, to the byte`)
    break
  }
  case 'programs': {
    const out = outOf('release')
    for (const file of makePrograms(out, committedAt())) say(join(out, file))
    writeFileSync(join(out, 'krew.yaml'), krewManifest(readFileSync(KREW, 'utf8'), out))
    say(join(out, 'krew.yaml'))
    break
  }
  case 'npm': {
    makeNpmPackage(outOf('npm-package'), positionals[1])
    say(outOf('npm-package'))
    break
  }
  case 'executables': {
    const out = outOf('release')
    const architectures = values.arch.split(',').map(architectureOf)
    const files = makeExecutables(architectures, { out, version: releaseVersion(), createdAt: committedAt() })
    for (const file of files) say(join(out, file))
    break
  }
  default:
    process.stderr.write(`usage: ${USAGE}\n`)
    process.exitCode = 2
}

function needLibraries(): void {
  const lacking = lackingForLibraries()
  if (lacking !== undefined) throw new Error(lacking)
}

function architectureOf(name: string): Architecture {
  const found = ARCHITECTURES.find((one) => one === name)
  if (found === undefined) throw new Error(`no executables are made for ${name}: ${ARCHITECTURES.join(' or ')}`)
  return found
}
