import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { type ProcessOptions, type RunningProcess, startProcess } from '@csi-sidecars/command'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { startCluster } from '@csi-sidecars/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ROOT, releaseVersion, SIDECARS, type Sidecar } from './bundle.ts'
import { makeContext } from './context.ts'
import { ImageStore } from './image-store.ts'

const lacking = lackingForImages()
if (lacking !== undefined) process.stdout.write(`${lacking}\n`)

const UNKNOWN_USER = '12345:54321'
const ARGS = {
  VERSION: 'v1.2.3',
  REVISION: 'abc',
  SOURCE: 'https://example.com/csi-sidecars',
}
const DOCKERFILE = readFileSync(join(ROOT, 'images/Dockerfile'), 'utf8')
const BAKE = readFileSync(join(ROOT, 'images/docker-bake.hcl'), 'utf8')
const MINUTES = 60_000
const START_LINES: Readonly<Record<Sidecar, string>> = {
  'csi-attacher': FACTS.attacher.startLine,
  'csi-resizer': FACTS.resizer.startLine,
  'csi-provisioner': FACTS.provisioner.startLine,
  'csi-snapshotter': FACTS.snapshotter.startLine,
  'csi-sidecars': FACTS.attacher.startLine,
}
const FOREIGN = {
  NODE_OPTIONS: '--stack-trace-limit=7',
  NODE_V8_COVERAGE: '/run/shared/coverage',
  OPENSSL_CONF: '/run/shared/bad.cnf',
}

it.each(SIDECARS)('the Dockerfile changes only the user in the -nonroot variant of %s', (name) => {
  const target = name.replace('csi-', '')
  const [, commands] = DOCKERFILE.split(`FROM ${target} AS ${target}-nonroot\n`)
  expect(commands?.split('\nFROM ')[0]?.trim()).toBe('USER 65532:65532')
})

it('docker-bake.hcl builds each sidecar, on the common base and on UBI, for the platforms that releases.md names', () => {
  const lists = [...BAKE.matchAll(/app += (\[.*?\])/g)].map(([, list = '']) => JSON.parse(list) as unknown)
  const apps = SIDECARS.map((name) => name.replace('csi-', ''))
  expect(lists).toEqual([apps, apps])
  const [, ubi = ''] = /^target "ubi" \{$(.*?)^\}$/ms.exec(BAKE) ?? []
  expect(ubi).toMatch(/name += "\$\{app\}-ubi"/)
  expect(ubi).toMatch(/target += "\$\{app\}-nonroot"/)
  expect(ubi).toMatch(/BASE = "registry\.access\.redhat\.com\/ubi9\/ubi-minimal:/)
  const platforms = JSON.parse(/platforms = (\[.*\])/.exec(BAKE)?.[1] ?? '[]') as string[]
  const releases = readFileSync(join(ROOT, 'docs/releases.md'), 'utf8')
  const named = [...releases.matchAll(/^\| (linux\/\w+)[^|]*\| yes \|/gm)].map(([, platform]) => platform)
  expect(named.sort()).toEqual(platforms.sort())
})

const withBuildah = lacking === undefined ? describe : describe.skip

withBuildah('the Dockerfile', () => {
  let store: SidecarImages
  let shared: string
  const images = new Map<string, string>()
  const roots = new Map<Sidecar, string>()
  const config = (target: string): ImageConfig => store.inspect(target)
  const rootOf = (name: Sidecar): string => roots.get(name) ?? ''

  beforeAll(() => {
    store = new SidecarImages()
    shared = mkdtempSync(join(tmpdir(), 'shared-'))
    for (const name of SIDECARS) {
      const target = name.replace('csi-', '')
      images.set(target, store.build(target))
      roots.set(name, store.unpack(target))
    }
    store.build('attacher-nonroot')
  }, 5 * MINUTES)

  afterAll(() => {
    store?.[Symbol.dispose]()
    rmSync(shared, { recursive: true, force: true })
  })

  it.each(SIDECARS)('an image sets the entry point of %s, but no command, port or working directory', (name) => {
    const { os, config: it } = config(name.replace('csi-', ''))
    expect(os).toBe('linux')
    expect(it.Entrypoint).toEqual([`/${name}`])
    const { Cmd, User, ExposedPorts, WorkingDir } = it
    expect({ Cmd, User, ExposedPorts, WorkingDir }).toEqual({ User: '0' })
    expect(it.Env).toContain('MALLOC_ARENA_MAX=1')
    expect(it.Env).toContain('UV_USE_IO_URING=0')
  })

  it.each(SIDECARS)('an image names the version, revision, source and licence of %s in its labels', (name) => {
    expect(config(name.replace('csi-', '')).config.Labels).toMatchObject({
      'org.opencontainers.image.title': name,
      'org.opencontainers.image.version': 'v1.2.3',
      'org.opencontainers.image.revision': 'abc',
      'org.opencontainers.image.source': 'https://example.com/csi-sidecars',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      replaces: expect.stringMatching(/external-(?:attacher v4|resizer v2|provisioner v6|snapshotter v8)\.\d+\.\d+/),
    })
  })

  it('an image and its -nonroot variant differ only in the user', () => {
    const [plain, nonroot] = [config('attacher'), config('attacher-nonroot')]
    expect(nonroot.config.User).toBe('65532:65532')
    expect(nonroot.rootfs).toEqual(plain.rootfs)
  })

  it('the image that docker-bake.hcl builds on UBI has all labels that Red Hat asks for', () => {
    expect(config('attacher-nonroot').config.Labels).toMatchObject({
      name: 'csi-sidecars/csi-attacher',
      vendor: 'csi-sidecars',
      maintainer: 'csi-sidecars',
      version: 'v1.2.3',
      release: '1',
      summary: expect.stringMatching(/./),
      description: expect.stringMatching(/^csi-attacher: /),
      'org.opencontainers.image.base.name': 'localhost/base',
    })
  })

  it.each(SIDECARS)('an image contains the licence of %s where Red Hat looks for it', (name) => {
    expect(readFileSync(join(rootOf(name), 'licenses/LICENSE'), 'utf8')).toContain('Apache License')
  })

  it('an image shares all layers except the last one with the other images', () => {
    const layers = SIDECARS.map((name) => config(name.replace('csi-', '')).rootfs.diff_ids)
    // The layers are the base, Node.js and the sidecar.
    expect(layers.map(({ length }) => length)).toEqual(SIDECARS.map(() => 3))
    expect(new Set(layers.map((ids) => ids.slice(0, 2).join())).size).toBe(1)
    expect(new Set(layers.map((ids) => ids[2])).size).toBe(SIDECARS.length)
  })

  it(
    'an image consists of a Node.js layer of at most 55 MB and a sidecar layer of at most 1 MB',
    () => {
      const [, node = 0, ourLayer = 0] = store.compressedSizes('attacher')
      expect(node).toBeLessThan(55_000_000)
      expect(ourLayer).toBeLessThan(1_000_000)
    },
    2 * MINUTES,
  )

  it(
    'two builds of an image in different stores and folders are equal byte by byte',
    () => {
      using again = new SidecarImages()
      const context = join(again.folder, 'another folder')
      makeContext(context)
      expect(again.build('attacher', context)).toBe(images.get('attacher'))
    },
    5 * MINUTES,
  )

  it.each(SIDECARS)('an image contains the licences of all packages in %s, and no shell', (name) => {
    const licences = join(rootOf(name), 'usr/share/licenses')
    expect(readFileSync(join(licences, name, 'THIRD-PARTY-NOTICES'), 'utf8')).toContain('@grpc/grpc-js')
    expect(readFileSync(join(licences, 'node/LICENSE'), 'utf8')).toContain('Node.js')
    // Scanners recognize a bundled package by its package.json.
    const grpc = join(licences, name, 'node_modules/@grpc/grpc-js/package.json')
    expect(JSON.parse(readFileSync(grpc, 'utf8'))).toMatchObject({ name: '@grpc/grpc-js', license: 'Apache-2.0' })
    expect(readdirSync(join(rootOf(name), 'usr/bin'))).toEqual(['node'])
  })

  it.each(SIDECARS)('an image contains a code cache of %s that its Node.js accepts', async (name) => {
    const stem = `/usr/lib/csi-sidecars/${name}`
    const code = `
      const { readFileSync } = require('node:fs')
      const { Script } = require('node:vm')
      const text = readFileSync('${stem}.cjs', 'latin1')
      const cachedData = readFileSync('${stem}.cache')
      const script = new Script('(function (exports, require, module) {' + text + '\\n})', { cachedData })
      console.log(script.cachedDataRejected)`
    const node = ['/usr/bin/node', '--openssl-config=/dev/null', '--eval', code]
    const container = await startProcess({ command: containerCommand(rootOf(name), { user: '0:0', shared }, node) })
    await container.exited
    expect(container.stdout).toEqual(['false'])
  })

  it.each(SIDECARS.flatMap((name) => ['0:0', UNKNOWN_USER].map((user) => [name, user] as const)))(
    'an image starts %s as user %s on a read-only root',
    async (name, user) => {
      const process = await startProcess({
        command: containerCommand(rootOf(name), { user, shared }, [`/${name}`, '--version']),
      })
      expect(await process.exited).toEqual({ code: 0, signal: null })
      expect(process.stdout).toEqual([`/${name} ${releaseVersion()}`])
      expect(process.stderr).toEqual([])
    },
    MINUTES,
  )

  it.each(SIDECARS)(
    'an image runs %s as an unknown user, and ends with code 0 after SIGTERM as process 1',
    async (name) => {
      await using cluster = await startCluster()
      const { settings } = cluster.driver
      settings.controller = [...settings.controller, 'CREATE_DELETE_SNAPSHOT']
      chmodSync(cluster.directory, 0o755)
      writeFileSync(join(cluster.directory, 'bad.cnf'), 'no equal sign\n')
      chmodSync(join(cluster.directory, 'csi.sock'), 0o777)
      const port = await freePort()
      const args = [
        '--kubeconfig=/run/shared/kubeconfig',
        '--csi-address=/run/shared/csi.sock',
        `--http-endpoint=127.0.0.1:${port}`,
      ]
      await using process = await startContainer({
        command: containerCommand(rootOf(name), { user: UNKNOWN_USER, shared: cluster.directory }, [
          `/${name}`,
          ...args,
        ]),
        // These variables of the pod must not affect Node.js in the image.
        env: { MALLOC_ARENA_MAX: '1', ...FOREIGN },
      })
      await process.untilLine(START_LINES[name], {
        timeoutMs: MINUTES,
      })
      expect(await readiness(port)).toBe('ok')
      const child = childOf(process.pid)
      const commandLine = readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0')
      expect(commandLine.slice(0, 3)).toEqual(['/usr/bin/node', '--openssl-config=/dev/null', `/${name}`])
      const environment = readFileSync(`/proc/${child}/environ`, 'utf8')
      expect(environment).toContain('NODE_OPTIONS=--max-semi-space-size=4')
      for (const foreign of ['stack-trace-limit', 'NODE_V8_COVERAGE']) expect(environment).not.toContain(foreign)
      execFileSync('kill', ['-TERM', child])
      expect(await process.exited).toEqual({ code: 0, signal: null })
      expect(existsSync(join(cluster.directory, 'coverage'))).toBe(false)
    },
    2 * MINUTES,
  )
})

/** Returns the reason why images cannot be built and run here. Undefined if they can. */
function lackingForImages(): string | undefined {
  if (spawnSync('buildah', ['--version']).status !== 0) return 'images are not tested: apt-get install buildah'
  return process.getuid?.() === 0 ? undefined : 'images are not tested: only root can mount and run them'
}

interface ImageConfig {
  readonly os: string
  readonly config: {
    readonly User?: string
    readonly Env: readonly string[]
    readonly Entrypoint: readonly string[]
    readonly Cmd?: readonly string[]
    readonly ExposedPorts?: object
    readonly WorkingDir?: string
    readonly Labels: Readonly<Record<string, string>>
  }
  readonly rootfs: { readonly diff_ids: readonly string[] }
}

/** The images of the Dockerfile in a temporary store. */
class SidecarImages implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'images-'))
  readonly #store = new ImageStore(this.folder)
  readonly #mounted: string[] = []

  /** Builds a target of the Dockerfile. Returns the ID of the image. */
  build(target: string, context = join(ROOT, 'images/dist')): string {
    return this.#store.buildSidecar(target, context, ARGS)
  }

  inspect(image: string): ImageConfig {
    const { OCIv1 } = JSON.parse(this.#store.buildah('inspect', '--type', 'image', image)) as { OCIv1: ImageConfig }
    return OCIv1
  }

  /** Returns the size of each layer in bytes, as a registry stores it. */
  compressedSizes(image: string): readonly number[] {
    const layout = join(this.folder, 'layout')
    this.#store.buildah('push', '--quiet', image, `oci:${layout}:${image}`)
    const blob = (digest: string): string => join(layout, 'blobs', digest.replace(':', '/'))
    const { manifests } = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as { manifests: Blob[] }
    const { layers } = JSON.parse(readFileSync(blob(manifests[0]?.digest ?? ''), 'utf8')) as { layers: Blob[] }
    return layers.map(({ digest }) => statSync(blob(digest)).size)
  }

  /** Returns the folder with the files of the image. */
  unpack(image: string): string {
    const container = this.#store.buildah('from', '--pull-never', image)
    this.#mounted.push(container)
    return this.#store.buildah('mount', container)
  }

  [Symbol.dispose](): void {
    for (const container of this.#mounted) this.#store.buildah('umount', container)
    this.#store[Symbol.dispose]()
  }
}

interface Blob {
  readonly digest: string
}

const CONTAINER = `
  mkdir -p "$1/proc" "$1/run/shared"
  mount --bind "$1" "$1"
  mount -t proc proc "$1/proc"
  mount --bind "$2" "$1/run/shared"
  mount -o remount,bind,ro "$1/run/shared"
  mount -o remount,bind,ro "$1"
  root=$1 user=$3
  shift 3
  cd "$root"
  exec chroot --userspec="$user" "$root" "$@"`

/**
 * Returns a command that runs `command` in an unpacked image, as process 1 on a read-only root. `user` is `uid:gid`,
 * and `shared` is mounted at /run/shared. Only root has capabilities.
 */
function containerCommand(
  root: string,
  { user, shared }: { readonly user: string; readonly shared: string },
  command: readonly string[],
): [string, ...string[]] {
  const isolated = ['--mount', '--pid', '--fork', '--kill-child']
  return ['unshare', ...isolated, 'sh', '-ec', CONTAINER, 'sh', root, shared, user, ...command]
}
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** Waits up to ten seconds for `ok` from /readyz, which the sidecar's caches delay. Returns the last answer. */
async function readiness(port: number): Promise<string> {
  let text = ''
  for (let tries = 0; tries < 100 && text !== 'ok'; tries += 1) {
    text = await fetch(`http://127.0.0.1:${port}/readyz`).then((answer) => answer.text())
    if (text !== 'ok') await systemClock.sleep(100)
  }
  return text
}

/** Starts a container. Its disposal kills the inner process, which `--kill-child` misses after a change of the user. */
async function startContainer(options: ProcessOptions): Promise<RunningProcess> {
  const started = await startProcess(options)
  const end = async (): Promise<void> => {
    const ended = await Promise.race([started.exited.then(() => true), systemClock.sleep(100).then(() => false)])
    if (!ended) spawnSync('kill', ['-KILL', childOf(started.pid)])
    await started[Symbol.asyncDispose]()
  }
  return { ...started, [Symbol.asyncDispose]: end }
}

function childOf(pid: number): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
}
