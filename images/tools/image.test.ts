import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { type ProcessOptions, type RunningProcess, startCluster, startProcess } from '@csi-sidecars/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { releaseVersion, SIDECARS, type Sidecar } from './bundle.ts'
import { containerCommand, type ImageConfig, ImageStore, lackingForImages } from './image-store.ts'

const lacking = lackingForImages()
if (lacking !== undefined) process.stdout.write(`${lacking}\n`)

const UNKNOWN_USER = '12345:54321'
const ARGS = { VERSION: 'v1.2.3', REVISION: 'abc', SOURCE: 'https://example.com/csi-sidecars' }
const MINUTES = 60_000
const FOREIGN = {
  NODE_OPTIONS: '--stack-trace-limit=7',
  NODE_V8_COVERAGE: '/run/shared/coverage',
  OPENSSL_CONF: '/run/shared/bad.cnf',
}

const withBuildah = lacking === undefined ? describe : describe.skip

withBuildah('an image', () => {
  let store: ImageStore
  let shared: string
  const images = new Map<string, string>()
  const roots = new Map<Sidecar, string>()
  const config = (target: string): ImageConfig => store.inspect(target)
  const rootOf = (name: Sidecar): string => roots.get(name) ?? ''

  beforeAll(() => {
    store = new ImageStore()
    shared = mkdtempSync(join(tmpdir(), 'shared-'))
    for (const name of SIDECARS) {
      const target = name.replace('csi-', '')
      images.set(target, store.build(target, ARGS))
      store.build(`${target}-nonroot`, ARGS)
      roots.set(name, store.unpack(target))
    }
  }, 5 * MINUTES)

  afterAll(() => {
    store?.[Symbol.dispose]()
    rmSync(shared, { recursive: true, force: true })
  })

  it.each(SIDECARS)('of %s has an entry point and nothing that a manifest would have to undo', (name) => {
    const { os, config: it } = config(name.replace('csi-', ''))
    expect(os).toBe('linux')
    expect(it.Entrypoint).toEqual([`/${name}`])
    const { Cmd, User, ExposedPorts, WorkingDir } = it
    expect({ Cmd, User, ExposedPorts, WorkingDir }).toEqual({})
    expect(it.Env).toContain('MALLOC_ARENA_MAX=1')
    expect(it.Env).toContain('UV_USE_IO_URING=0')
  })

  it.each(SIDECARS)('of %s says where it comes from', (name) => {
    expect(config(name.replace('csi-', '')).config.Labels).toMatchObject({
      'org.opencontainers.image.title': name,
      'org.opencontainers.image.version': 'v1.2.3',
      'org.opencontainers.image.revision': 'abc',
      'org.opencontainers.image.source': 'https://example.com/csi-sidecars',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      replaces: expect.stringMatching(/external-(?:attacher v4|resizer v2)\.\d+\.\d+/),
    })
  })

  it('with -nonroot is the same, but for its user', () => {
    const [plain, nonroot] = [config('attacher'), config('attacher-nonroot')]
    expect(nonroot.config.User).toBe('65532:65532')
    expect(nonroot.rootfs).toEqual(plain.rootfs)
  })

  it('shares all but one small layer with the others', () => {
    const layers = SIDECARS.map((name) => config(name.replace('csi-', '')).rootfs.diff_ids)
    expect(layers.map(({ length }) => length)).toEqual(SIDECARS.map(() => 2))
    expect(new Set(layers.map(([node]) => node)).size).toBe(1)
    expect(new Set(layers.map(([, own]) => own)).size).toBe(SIDECARS.length)
  })

  it(
    'is the same to the byte when it is built twice',
    () => {
      using again = new ImageStore(store.context)
      expect(again.build('attacher', ARGS)).toBe(images.get('attacher'))
    },
    5 * MINUTES,
  )

  it.each(SIDECARS)('of %s has the licences of what is in it', (name) => {
    const notices = readFileSync(join(rootOf(name), `usr/share/licenses/${name}/THIRD-PARTY-NOTICES`), 'utf8')
    expect(notices).toContain('@grpc/grpc-js')
    expect(readFileSync(join(rootOf(name), 'usr/share/doc/libc6/copyright'), 'utf8')).toContain('GNU')
  })

  it.each(SIDECARS.flatMap((name) => ['0:0', UNKNOWN_USER].map((user) => [name, user] as const)))(
    'of %s starts as user %s on a read-only root',
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
    'of %s works as an unknown user, and ends in good order as process 1',
    async (name) => {
      await using cluster = await startCluster()
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
        // Options of the environment must not reach this Node.
        env: { MALLOC_ARENA_MAX: '1', ...FOREIGN },
      })
      await process.untilLine(name === 'csi-resizer' ? 'Starting external resizer' : 'Starting CSI attacher', {
        timeoutMs: MINUTES,
      })
      expect(await readiness(port)).toBe('ok')
      const child = childOf(process.pid)
      const commandLine = readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0')
      expect(commandLine.slice(0, 3)).toEqual(['/bin/node', '--openssl-config=/dev/null', `/${name}`])
      const environment = readFileSync(`/proc/${child}/environ`, 'utf8')
      expect(environment).toContain('NODE_OPTIONS=--max-semi-space-size=1')
      for (const foreign of ['stack-trace-limit', 'NODE_V8_COVERAGE']) expect(environment).not.toContain(foreign)
      execFileSync('kill', ['-TERM', child])
      expect(await process.exited).toEqual({ code: 0, signal: null })
      expect(existsSync(join(cluster.directory, 'coverage'))).toBe(false)
    },
    2 * MINUTES,
  )
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** What /readyz says once it says something good; caches take a moment. */
async function readiness(port: number): Promise<string> {
  let text = ''
  for (let tries = 0; tries < 100 && text !== 'ok'; tries += 1) {
    text = await fetch(`http://127.0.0.1:${port}/readyz`).then((answer) => answer.text())
    if (text !== 'ok') await systemClock.sleep(100)
  }
  return text
}

/** Ends the processes inside as well: a change of user resets the parent death signal. */
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
