import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The real control plane and the originals, as Go modules name them; built once into an ignored folder. */

interface Build {
  /** The folder of the Go module, under e2e. */
  readonly module: string
  readonly package: string
  readonly ldflags: string
}

const KUBERNETES = '-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3'

const CONTROL_PLANE: Readonly<Record<string, Build>> = {
  etcd: { module: 'control-plane', package: 'go.etcd.io/etcd/server/v3', ldflags: '-s -w' },
  'kube-apiserver': { module: 'control-plane', package: 'k8s.io/kubernetes/cmd/kube-apiserver', ldflags: KUBERNETES },
  'kube-controller-manager': {
    module: 'control-plane',
    package: 'k8s.io/kubernetes/cmd/kube-controller-manager',
    ldflags: KUBERNETES,
  },
  kubectl: { module: 'control-plane', package: 'k8s.io/kubernetes/cmd/kubectl', ldflags: KUBERNETES },
}

const ORIGINALS: Readonly<Record<string, Build>> = {
  'csi-attacher': {
    module: 'originals',
    package: 'github.com/kubernetes-csi/external-attacher/v4/cmd/csi-attacher',
    ldflags: '-X main.version=v4.13.0',
  },
  'csi-resizer': {
    module: 'originals',
    package: 'github.com/kubernetes-csi/external-resizer/v2/cmd/csi-resizer',
    ldflags: '-X main.version=v2.3.0',
  },
}

const SANITY: Readonly<Record<string, Build>> = {
  'csi-sanity': { module: 'sanity', package: 'github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity', ldflags: '' },
}

export const BUILDS: Readonly<Record<string, Build>> = { ...CONTROL_PLANE, ...ORIGINALS, ...SANITY }

const REMEDY =
  'e2e needs kube-apiserver and etcd: install Go 1.26 (https://go.dev/dl), or run setup-envtest and set KUBEBUILDER_ASSETS'

export function cacheFolder(root: string): string {
  return join(root, '.cache', 'control-plane', 'bin')
}

export function originals(root: string): { attacher: string; resizer: string } {
  const folder = cacheFolder(root)
  return { attacher: join(folder, 'csi-attacher'), resizer: join(folder, 'csi-resizer') }
}

/** Where etcd and kube-apiserver are, built now if need be; or one line on how to get them. */
export function controlPlaneBinaries(root: string): { folder: string } | { remedy: string } {
  const { KUBEBUILDER_ASSETS } = process.env
  if (KUBEBUILDER_ASSETS !== undefined && KUBEBUILDER_ASSETS !== '') {
    const missing = ['etcd', 'kube-apiserver'].find((name) => !existsSync(join(KUBEBUILDER_ASSETS, name)))
    if (missing === undefined) return { folder: KUBEBUILDER_ASSETS }
    return {
      remedy: `KUBEBUILDER_ASSETS=${KUBEBUILDER_ASSETS} has no ${missing}: run setup-envtest again, or unset it`,
    }
  }
  const folder = cacheFolder(root)
  const missing = Object.keys(CONTROL_PLANE).filter((name) => !existsSync(join(folder, name)))
  if (missing.length > 0 && !hasGo()) return { remedy: REMEDY }
  for (const name of missing) build(root, name)
  return { folder }
}

export function hasGo(): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'go')))
}

/** Builds one binary unless it is there. */
export function build(root: string, name: string): string {
  const what = BUILDS[name]
  if (what === undefined) throw new Error(`nobody knows how to build ${name}`)
  const file = join(cacheFolder(root), name)
  if (existsSync(file)) return file
  mkdirSync(cacheFolder(root), { recursive: true })
  process.stdout.write(`building ${name}\n`)
  execFileSync('go', ['build', '-trimpath', '-ldflags', what.ldflags, '-o', file, what.package], {
    cwd: join(root, 'e2e', what.module),
    env: { ...process.env, CGO_ENABLED: '0' },
    stdio: 'inherit',
  })
  return file
}
