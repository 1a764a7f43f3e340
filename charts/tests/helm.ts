import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { loadAll } from 'js-yaml'
import type { Manifest } from './manifest.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const BUILT = join(ROOT, '.cache/helm/bin/helm')
/** The Kubernetes version for a Helm that is built from its module. Released versions of Helm contain it. */
const KUBERNETES_MINOR = 37
const BUILD_LIMIT_MS = 15 * 60_000

export const CHART = join(ROOT, 'charts/csi-sidecars')
export const VENDOR_CHART = join(import.meta.dirname, 'vendor-chart')

export const EXAMPLES = [
  'block-driver',
  'driver',
  'every-value',
  'file-driver',
  'node-deployment',
  'node-local',
  'hosted-control-plane',
  'monitored',
  'one-process',
  'restricted',
  'secure',
  'separate',
] as const
export type Example = (typeof EXAMPLES)[number]

export const exampleFile = (example: Example): string => join(CHART, 'examples', `${example}.yaml`)

/** The inputs of one `helm template` of the chart in this repository, or of the chart in the folder `chart`. */
export interface RenderOptions {
  /** Value files. A later file overrides the earlier files. */
  readonly files?: readonly string[]
  /** Values that override the value files. */
  readonly values?: object
  readonly chart?: string
  /** The name of the release. Default: `demo`. */
  readonly release?: string
  /** The namespace of the release. Default: `storage`. */
  readonly namespace?: string
  /** True to render the objects of `helm test`, too. */
  readonly tests?: boolean
}

export type Rendered =
  | { readonly kind: 'rendered'; readonly objects: readonly Manifest[] }
  | { readonly kind: 'failed'; readonly error: string }

/** Returns the path of Helm. Undefined if Helm is neither installed nor built. */
export function helmPath(): string | undefined {
  return onPath('helm') ?? (existsSync(BUILT) ? BUILT : undefined)
}

/** Builds Helm if it is missing. Returns a line with the reason if Helm is still missing. */
export function provideHelm(): string | undefined {
  if (helmPath() !== undefined) return undefined
  const remedy = 'The rendered chart is not tested'
  const go = onPath('go')
  if (go === undefined) return `${remedy}: install Helm 3 (https://helm.sh) or Go 1.26 (https://go.dev/dl)`
  mkdirSync(join(BUILT, '..'), { recursive: true })
  const folder = join(ROOT, 'tools/helm')
  const version = /helm\.sh\/helm\/v3 (v\S+)/.exec(readFileSync(join(folder, 'go.mod'), 'utf8'))?.[1]
  const settings = [
    `helm.sh/helm/v3/internal/version.version=${version}`,
    ...['pkg/chartutil', 'pkg/lint/rules'].flatMap((part) => [
      `helm.sh/helm/v3/${part}.k8sVersionMajor=1`,
      `helm.sh/helm/v3/${part}.k8sVersionMinor=${KUBERNETES_MINOR}`,
    ]),
  ]
  const ldflags = ['-s -w', ...settings.map((setting) => `-X ${setting}`)].join(' ')
  process.stdout.write('building Helm, once\n')
  const { status, stderr } = spawnSync(
    go,
    ['build', '-trimpath', '-ldflags', ldflags, '-o', BUILT, 'helm.sh/helm/v3/cmd/helm'],
    { cwd: folder, env: { ...process.env, CGO_ENABLED: '0' }, encoding: 'utf8', timeout: BUILD_LIMIT_MS },
  )
  return status === 0 ? undefined : `${remedy}: Helm could not be built: ${stderr.trim().split('\n').at(-1)}`
}

export function onPath(program: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path))
}

/** Runs `helm template` for a release. Returns the rendered objects, or the error message of Helm. */
export function tryRender(options: RenderOptions): Rendered {
  const { chart = CHART, release = 'demo', namespace = 'storage', tests = false } = options
  const skipped = tests ? [] : ['--skip-tests']
  const { status, stdout, stderr } = runHelm(['template', release, chart, '-n', namespace, ...skipped], options)
  if (status !== 0) return { kind: 'failed', error: stderr }
  // An empty document parses as null.
  const objects = loadAll(stdout).filter((object) => object !== null && object !== undefined)
  return { kind: 'rendered', objects: objects as Manifest[] }
}

export function render(options: RenderOptions): readonly Manifest[] {
  const rendered = tryRender(options)
  if (rendered.kind === 'failed') throw new Error(rendered.error)
  return rendered.objects
}

export function runHelm(
  args: readonly string[],
  { files = [], values }: RenderOptions = {},
): { status: number | null; stdout: string; stderr: string } {
  const helm = helmPath()
  if (helm === undefined) throw new Error('there is no Helm: the caller should have skipped')
  const folder = mkdtempSync(join(tmpdir(), 'helm-'))
  try {
    const valuesFile = join(folder, 'values.json')
    if (values !== undefined) writeFileSync(valuesFile, JSON.stringify(values))
    const valueFiles = [...files, ...(values === undefined ? [] : [valuesFile])].flatMap((file) => ['-f', file])
    // The plugins and settings of the user's own Helm must not change the result. A short run needs no garbage collector.
    const env = { PATH: process.env['PATH'], HOME: folder, GOGC: 'off' }
    return spawnSync(helm, [...args, ...valueFiles], { encoding: 'utf8', env, maxBuffer: 64 * 1024 * 1024 })
  } finally {
    rmSync(folder, { recursive: true })
  }
}
