import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { CLUSTER_ROLE_BINDINGS, NAMESPACES, PERSISTENT_VOLUME_CLAIMS, SERVICE_ACCOUNTS } from '@csi-sidecars/kube-types'
import { helmPath } from '../../../../charts/tests/helm.ts'
import { homeOf, registryOf } from '../../../../images/tools/fill.ts'
import { releaseChart } from '../../../../images/tools/release-chart.ts'
import { commandsIn } from '../../../../tools/docs/commands.ts'
import { startControllerManager } from '../../harness/api/control-plane.ts'
import type { TestContext } from '../../harness/context.ts'
import type { FakeDriver } from '../../harness/driver/driver.ts'
import { runToEnd, stop } from '../../harness/process/processes.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { controlPlaneProgram } from '../../tools/binaries.ts'
import { attachAndWait, detachAndWait } from '../attacher/scene.ts'
import { grown } from '../resizer/scene.ts'
import { surroundings } from '../work.ts'
import { Kubelet } from './kubelet.ts'

/** Helpers for tests in which an administrator installs or replaces the sidecars of a driver with shell commands. */

const root = resolve(import.meta.dirname, '../../../..')
/** The registry of the images and the chart that the documents name. */
const REGISTRY = registryOf(homeOf(root))
/** The namespace that the documents use. */
export const NAMESPACE = 'storage'
export const ORIGINALS = {
  attacher: 'registry.k8s.io/sig-storage/csi-attacher:v4.13.0',
  resizer: 'registry.k8s.io/sig-storage/csi-resizer:v2.3.0',
}
const { version } = JSON.parse(readFileSync(join(root, 'apps/attacher/package.json'), 'utf8')) as { version: string }
export const OURS = {
  attacher: `${REGISTRY}/csi-attacher:v${version}`,
  resizer: `${REGISTRY}/csi-resizer:v${version}`,
}
/** The image with all sidecars in one process. */
export const ONE = { both: `${REGISTRY}/csi-sidecars:v${version}` }

export interface ChartCluster extends AsyncDisposable {
  readonly kubelet: Kubelet
  readonly driver: FakeDriver
  /** Runs a shell command in the root of the repository and returns its output. */
  readonly shell: (line: string) => Promise<string>
}

/** Returns the shell commands of a document. */
export function linesOf(path: string): readonly string[] {
  return commandsIn({ path, text: readFileSync(join(root, path), 'utf8') }).map(({ line }) => line)
}

/** Starts the Deployment controllers, a kubelet for their pods, a driver, and a shell. */
export async function ground(t: TestContext): Promise<ChartCluster> {
  const driver = await t.fullDriver()
  await surroundings(t)
  const kubeconfig = t.kubeconfig(t.cluster.url, t.cluster.adminToken)
  const controllers = ['deployment-controller', 'replicaset-controller']
  const manager = await startControllerManager({ kubeconfig, folder: t.folder, controllers })
  const programs = {
    [OURS.attacher]: t.executable('attacher'),
    [OURS.resizer]: t.executable('resizer'),
    [ONE.both]: t.executable('both'),
    [ORIGINALS.attacher]: t.original('attacher'),
    [ORIGINALS.resizer]: t.original('resizer'),
  }
  const kubelet = new Kubelet(t, { namespace: NAMESPACE, programs, driver })
  const env = { PATH: pathWithTools(), HOME: t.folder, KUBECONFIG: kubeconfig }
  return {
    kubelet,
    driver,
    shell: (line) => Promise.race([printed(line, env), kubelet.failed]),
    [Symbol.asyncDispose]: async () => {
      for (const plural of ['deployments', 'replicasets']) await removeAll(t, `/apis/apps/v1`, plural)
      await removeAll(t, '/api/v1', 'pods')
      await stop(manager)
      await kubelet[Symbol.asyncDispose]()
    },
  }
}

function pathWithTools(): string {
  return [dirname(helmPath() ?? ''), dirname(controlPlaneProgram(root, 'kubectl')), '/usr/bin', '/bin'].join(':')
}

async function printed(line: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { code, output } = await runToEnd('sh', ['-c', line], { cwd: root, env })
  if (code !== 0) throw new Error(`${line}\nended with ${code}:\n${output}`)
  return output
}

async function removeAll(t: TestContext, group: string, plural: string): Promise<void> {
  await t.api.call('DELETE', `${group}/namespaces/${NAMESPACE}/${plural}`)
}

/** Checks that the running attacher attaches a volume and that the running resizer expands a claim. */
export async function works(t: TestContext, suffix: string): Promise<void> {
  await attachAndWait(t, { node: t.name('node') }, { suffix, within: 40_000 })
  const { pvc } = await grown(t, { suffix: `-claim${suffix}` })
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: t.namespace, name: pvc })
}

export async function detaches(t: TestContext, suffix: string): Promise<void> {
  await detachAndWait(t, t.name(`va${suffix}`), { within: 40_000 })
}

/** Waits until exactly two replicas of each image run. */
export async function onlyRuns(kubelet: Kubelet, images: Readonly<Record<string, string>>): Promise<void> {
  const expected = Object.values(images)
    .flatMap((image) => [image, image])
    .sort()
  const asExpected = (): boolean => JSON.stringify(kubelet.images()) === JSON.stringify(expected)
  await eventually(`two of each of ${expected.join()}`, asExpected, { within: 40_000 })
}

/** Creates a controller Deployment of a driver with the Go sidecars, as many vendors' charts contain it. */
export async function vendorDeployment(t: TestContext): Promise<void> {
  const name = 'example-controller'
  if ((await t.api.find(NAMESPACES, { name: NAMESPACE })) === undefined) {
    await t.api.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
  }
  await t.create(SERVICE_ACCOUNTS, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { namespace: NAMESPACE, name },
  })
  for (const role of ['csi-attacher', 'csi-resizer']) {
    await t.create(CLUSTER_ROLE_BINDINGS, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: t.name(role) },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ kind: 'ServiceAccount', namespace: NAMESPACE, name }],
    })
  }
  const sidecar = (app: 'attacher' | 'resizer'): object => ({
    name: `csi-${app}`,
    image: ORIGINALS[app],
    args: ['--csi-address=$(ADDRESS)', '--v=5', '--leader-election', '--leader-election-namespace=$(NAMESPACE)'],
    env: [
      { name: 'ADDRESS', value: '/csi/csi.sock' },
      { name: 'NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
    ],
    volumeMounts: [{ name: 'socket-dir', mountPath: '/csi' }],
  })
  const labels = { app: name }
  const containers = [
    { name: 'driver', image: 'registry.example.com/example-csi-driver:v1.0.0' },
    sidecar('attacher'),
    sidecar('resizer'),
  ]
  const volumes = [{ name: 'socket-dir', emptyDir: {} }]
  const template = { metadata: { labels }, spec: { serviceAccountName: name, containers, volumes } }
  const spec = { replicas: 2, selector: { matchLabels: labels }, template }
  const body = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace: NAMESPACE, name }, spec }
  await t.api.call('POST', `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`, { body })
}

/** Declares tests as `testsOf` does, but only if Helm is installed. */
export const installationTests: typeof testsOf = (app, group) =>
  helmPath() === undefined ? () => undefined : testsOf(app, group)

/** The options of the installation tests. They run one by one, because all use the namespace of the documents. */
export const INSTALLATION = { only: 'ours', notOne: true, target: 'real', alone: 'cluster', within: 300_000 } as const

const CHART_LINE = `oci://${REGISTRY}/charts/csi-sidecars --version ${version} `

/**
 * Packages the chart as a release does, but with image tags instead of digests. The returned function changes a command
 * of the documents, so that the command installs this chart for the test's driver.
 */
export function releasedChart(t: TestContext): (line: string) => string {
  const chart = releaseChart(t.folder, REGISTRY, {})
  return (line) => {
    if (!line.includes(CHART_LINE)) throw new Error(`no ${CHART_LINE}in ${line}`)
    return line
      .replace(CHART_LINE, `${chart} `)
      .replace(/--values (\w+\.yaml)/, (_, name: string) => `--values ${exampleWithoutImages(t, name)}`)
  }
}

function exampleWithoutImages(t: TestContext, name: string): string {
  const file = join(t.folder, name)
  const text = readFileSync(join(root, 'charts/csi-sidecars/examples', name), 'utf8')
  writeFileSync(file, text.replace(/^image:\n(?: .*\n)+/m, '').replace('example.csi.k8s.io', t.driverName))
  return file
}
