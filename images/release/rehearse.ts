// A whole release on this machine, against a registry on loopback: npm run release:rehearse
// It builds everything here and in another folder, and compares the bytes. Then it publishes what it built: without an
// interruption, interrupted after each single change until it is complete, and once more on what is complete. All of
// them must leave the same digests, tags and files. Other programs read the result back.
// `-- --built FOLDER` publishes what images/release/build.ts has left in FOLDER/<machine>, and builds nothing.
// Signatures are made with a key of the rehearsal, and the release page is in memory. `-- --cosign PROGRAM` signs and
// verifies with cosign in the runs without interruptions.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { readArguments } from '@csi-sidecars/command'
import { helmPath } from '../../charts/tests/helm.ts'
import { ROOT, releaseVersion } from '../tools/bundle.ts'
import { homeOf } from '../tools/fill.ts'
import { IMAGES } from '../tools/released.ts'
import { Cosign } from './cosign.ts'
import { sha256Of } from './files.ts'
import { readChangelogs, releaseNotes } from './notes.ts'
import type { Subject } from './plan.ts'
import { buildElsewhere, buildHere, differences, sumsOf } from './rehearsal/builds.ts'
import { Interruptions, type Outside, runInterrupted } from './rehearsal/interruptions.ts'
import { LocalSigner } from './rehearsal/local-signer.ts'
import { MemoryPage } from './rehearsal/page.ts'
import { RegistryProcess } from './rehearsal/registry-process.ts'
import { type Release, releaseOf } from './release.ts'
import { pushRelease, tagRelease } from './steps.ts'
import { rehearsedArguments, verifyLines } from './verify-lines.ts'

/** Bytes. */
const LARGE = 10 * 1024 * 1024
const { values } = readArguments('npm run release:rehearse [-- --built FOLDER] [--cosign PROGRAM]', {
  options: { built: { type: 'string' }, cosign: { type: 'string' } },
})
const version = releaseVersion()
const work = mkdtempSync(join(tmpdir(), 'release-'))
const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

try {
  const built = values.built === undefined ? builtTwice() : resolve(values.built)
  await publishThreeWays(lightened(built))
  say(`${version} can be released`)
} finally {
  rmSync(work, { recursive: true, force: true })
}

function builtTwice(): string {
  const built = join(work, 'built')
  mkdirSync(built)
  buildHere(join(built, process.arch))
  const sums = sumsOf(built)
  say(`built ${Object.keys(sums).length} files`)
  compareBuilds(sums)
  return built
}

function compareBuilds(sums: Readonly<Record<string, string>>): void {
  const again = join(work, 'again')
  const elsewhere = join(work, 'a folder with another name')
  buildElsewhere(elsewhere, join(again, process.arch))
  const different = differences(sums, sumsOf(again))
  if (different.length > 0) throw new Error(`a build in another folder differs: ${different.join(', ')}`)
  const [dists, others] = [ROOT, elsewhere].map((root) => sumsOf(join(root, 'apps')))
  const executables = Object.keys(others ?? {}).filter((name) => /\/dist\/[\w-]+$/.test(name))
  const changed = executables.filter((name) => dists?.[name] !== others?.[name])
  if (changed.length > 0) throw new Error(`npm run build in another folder differs: ${changed.join(', ')}`)
  say(`built again in another folder: the same bytes, ${executables.length} executables of npm run build among them`)
}

/** The same with the checksum in place of each large file of the release page: a hundred runs copy them all. */
function lightened(built: string): string {
  const light = join(work, 'light')
  cpSync(built, light, { recursive: true, filter: (path) => !isLarge(path) })
  for (const path of globSync(join(built, '*/files/*')).filter(isLarge)) {
    writeFileSync(join(light, relative(built, path)), sha256Of(path))
  }
  return light
}

function isLarge(path: string): boolean {
  return basename(dirname(path)) === 'files' && statSync(path).size > LARGE
}

async function publishThreeWays(built: string): Promise<void> {
  // Each in a registry of its own: this one stores a blob once for all repositories.
  await using one = await RegistryProcess.start()
  await using other = await RegistryProcess.start()
  const [straight, broken] = [
    scene(one, { built, owner: 'straight', cosign: values.cosign }),
    scene(other, { built, owner: 'interrupted' }),
  ]
  const first = new Interruptions()
  await straight.publish(first.around(straight.outside))
  say(`published: ${first.changes.length} changes`)
  const interrupted = await runInterrupted(broken.outside, broken.publish)
  say(`published with ${interrupted.length} interruptions`)
  if (interrupted.length !== first.changes.length) throw new Error('an interrupted release makes other changes')
  const again = new Interruptions()
  await straight.publish(again.around(straight.outside))
  if (again.changes.length > 0) throw new Error(`a complete release is changed: ${again.changes.join(', ')}`)
  say('published again: no change')
  if (
    differences(straight.page.state?.files ?? {}, broken.page.state?.files ?? {}).some(
      (name) => !name.includes('SUMS.'),
    )
  ) {
    throw new Error('an interrupted release has other files on its page')
  }
  for (const each of [straight, broken]) {
    if (each.page.state?.draft !== false) throw new Error('the release page is not published')
    for (const subject of each.release.subjects) readBack(subject, each.process)
    await readBackSigned(each)
  }
  if (straight.cosign !== undefined) verifyAsDocumented(straight, straight.cosign)
  await refuseAnother(straight)
}

interface Scene {
  readonly process: RegistryProcess
  readonly release: Release
  readonly page: MemoryPage
  readonly outside: Outside
  /** Undefined where the signer is that of the rehearsal. */
  readonly cosign: Cosign | undefined
  readonly publish: (outside: Outside) => Promise<void>
}

interface SceneOptions {
  readonly built: string
  readonly owner: string
  /** The program; without it the signer is that of the rehearsal. */
  readonly cosign?: string | undefined
}

function scene(process: RegistryProcess, { built, owner, cosign }: SceneOptions): Scene {
  const files = join(work, owner)
  const release = releaseOf({ version, registry: `${process.host}/${owner}`, built, files, machines: 1 })
  const page = new MemoryPage()
  const notes = releaseNotes(readChangelogs(ROOT), version.slice(1))
  const publish = async ({ storage, signer, page: onto }: Outside): Promise<void> => {
    await pushRelease(release, storage, signer)
    await tagRelease(release, { storage, page: onto, notes })
  }
  const program = cosign === undefined ? undefined : cosignWithKey(resolve(cosign), work)
  const outside = { storage: release.registry, signer: program ?? new LocalSigner(release.registry), page }
  return { process, release, page, outside, cosign: program, publish }
}

/** Programs of other projects find what the tag names, complete, with the digest of the build. */
function readBack({ repository, tag, digest, image }: Subject, { crane, host }: RegistryProcess): void {
  const name = `${host}/${repository}:${tag}`
  const run = (program: string, ...args: readonly string[]): string =>
    execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  const found = run(crane, 'digest', name)
  if (found !== digest) throw new Error(`${name} is ${found}, not ${digest}`)
  if (image !== undefined) run(crane, 'validate', '--remote', name)
  const helm = helmPath()
  if (image === undefined && helm !== undefined) {
    run(helm, 'show', 'chart', `oci://${host}/${repository}`, '--version', tag, '--plain-http')
  }
  say(`read back: ${name}`)
}

/** Signatures and bills of materials are in the registry, hold, and are those of the build. */
async function readBackSigned({ release: { subjects, host, files }, outside: { signer } }: Scene): Promise<void> {
  for (const { repository, digest, image, parts } of subjects) {
    const name = `${host}/${repository}@${digest}`
    if (!(await signer.isSigned(name))) throw new Error(`${name} is not signed`)
    for (const { descriptor } of image === undefined ? [] : parts) {
      const file = join(files, `${image}-${version}-image-${descriptor.platform?.architecture}.spdx.json`)
      if (!(await signer.isAttested(name, { type: 'spdxjson', file }))) throw new Error(`${name} has no ${file}`)
    }
  }
  say(`read back: signatures and bills of materials of ${subjects.length} names`)
}

/** The lines of the documents hold for what was released. */
function verifyAsDocumented({ process: { host } }: Scene, { options: cosign }: Cosign): void {
  const home = homeOf(ROOT)
  const rehearsed = { registry: `${host}/straight`, version, cosign }
  for (const file of ['SECURITY.md', 'docs/drivers.md']) {
    const lines = verifyLines(readFileSync(join(ROOT, file), 'utf8'))
    for (const line of lines) execFileSync(cosign.program, rehearsedArguments(line, home, rehearsed), { stdio: 'pipe' })
    say(`verified by ${lines.length} lines of ${file}`)
  }
}

/** Another build under the same tag ends before it changes anything. */
async function refuseAnother({ release, outside }: Scene): Promise<void> {
  const [first] = release.subjects
  const [other] = release.subjects.slice(-1)
  if (first === undefined || other === undefined) throw new Error(`a release has ${IMAGES.length} images`)
  const changed = { ...release, subjects: [{ ...first, digest: other.digest }] }
  const interruptions = new Interruptions()
  const { storage, signer } = interruptions.around(outside)
  const refused = await pushRelease(changed, storage, signer).then(
    () => undefined,
    (error: unknown) => String(error),
  )
  if (!refused?.includes('tags are never moved') || interruptions.changes.length > 0) {
    throw new Error(`another build under the same tag is not refused: ${refused}`)
  }
  say('another build under the same tag is refused')
}

/** cosign 3 with a key of its own in a folder, without any service outside of this machine. */
function cosignWithKey(program: string, folder: string): Cosign {
  // It asks for a password where the environment has none.
  process.env['COSIGN_PASSWORD'] = ''
  execFileSync(program, ['generate-key-pair'], { cwd: folder, stdio: 'ignore' })
  return new Cosign({
    program,
    signing: ['--key', `${folder}/cosign.key`, '--use-signing-config=false', '--tlog-upload=false'],
    verifying: ['--key', `${folder}/cosign.pub`, '--insecure-ignore-tlog', '--private-infrastructure'],
    registry: ['--allow-http-registry'],
  })
}
