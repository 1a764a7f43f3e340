import { deepStrictEqual as equal, ok } from 'node:assert'
import { createServer } from 'node:https'
import { resolve } from 'node:path'
import { NAMESPACES } from '@csi-sidecars/kube-types'
import { makeAuthority } from '@csi-sidecars/testkit'
import { exampleFile, helmPath, render } from '../../../../charts/tests/helm.ts'
import { ofKind, podSpecs } from '../../../../charts/tests/manifest.ts'
import { Api, ApiRefusal } from '../../harness/api/api.ts'
import { type ControlPlane, startControlPlane } from '../../harness/api/control-plane.ts'
import { listen } from '../../harness/listen.ts'
import { Scraper } from '../../harness/process/scraper.ts'
import { apiServer, controlPlaneBinaries } from '../../harness/programs/binaries.ts'
import { check, testsOf } from '../../harness/test.ts'
import { eventually, pause, repeat } from '../../harness/waiting.ts'
import { FLOW_CONTROL, flowSchemaApplied } from '../flow-control.ts'
import { createAll, renderInto, tokenOf } from './rendered.ts'

/** Tests of the chart's FlowSchema, which gives requests for Leases priority, on a real API server. */

const REAL = { only: 'ours', notOne: true, target: 'real' } as const
const VALUES = { flowSchema: { enabled: true } }

const test = helmPath() === undefined ? () => undefined : testsOf('attacher', 'chart')

test('the FlowSchema of the chart gives priority only to the Lease requests of the sidecar', REAL, async (t) => {
  const values = { ...VALUES, fullnameOverride: t.name('chart') }
  const objects = await renderInto(t, { files: [exampleFile('driver')], values })
  const account = podSpecs(objects)[0]?.serviceAccountName ?? ''
  const namespace = t.name('storage')
  await createAll(
    t,
    objects.filter(({ kind }) => kind !== 'FlowSchema'),
  )
  const token = await tokenOf(t.api, namespace, account)
  const { port } = new URL(t.cluster.url)
  const asking = new Scraper({ port: Number(port), ca: t.cluster.ca, token })
  const levelOf = async (path: string): Promise<unknown> => {
    const { headers } = await asking.get(path)
    return headers['x-kubernetes-pf-prioritylevel-uid']
  }
  const uidOf = async (level: string): Promise<string> => {
    const path = `${FLOW_CONTROL}/prioritylevelconfigurations/${level}`
    return (await t.api.call<{ metadata: { uid: string } }>('GET', path)).metadata.uid
  }
  const [low, election] = [await uidOf('workload-low'), await uidOf('leader-election')]
  const leases = (of: string): string => `/apis/coordination.k8s.io/v1/namespaces/${of}/leases/x`
  equal(await levelOf(leases(namespace)), low)
  const [schema] = ofKind(objects, 'FlowSchema')
  await t.api.call('POST', `${FLOW_CONTROL}/flowschemas`, { body: schema })
  try {
    await eventually('the FlowSchema in force', async () => (await levelOf(leases(namespace))) === election)
    equal(await levelOf(leases('default')), low)
    equal(await levelOf('/api/v1/persistentvolumes'), low)
  } finally {
    await t.api.call('DELETE', `${FLOW_CONTROL}/flowschemas/${schema?.metadata.name}`)
  }
})

const WITHIN_MS = 5 * 60_000
/** The number of accounts that overload the API server. It exceeds the number of queues of a priority level. */
const NOISY_ACCOUNTS = 150
const SEAT_HELD_MS = 6_000
/** The default of `--leader-election-renew-deadline`. */
const RENEW_DEADLINE_MS = 10_000
const SECONDS = 25

const withHelm = helmPath() === undefined ? () => undefined : check

withHelm(
  'on an overloaded API server, Leases are renewed in time only with the FlowSchema of the chart',
  { target: 'real', within: WITHIN_MS, alone: 'cluster', long: true },
  async ({ folder }) => {
    const assets = controlPlaneBinaries(resolve(import.meta.dirname, '../../../..'))
    if ('remedy' in assets) throw new Error(assets.remedy)
    const { minor, apiServerArgs: common } = apiServer()
    const apiServerArgs = [...common, '--max-requests-inflight=8', '--max-mutating-requests-inflight=8']
    const server = await startControlPlane({ minor, binaries: assets.folder, logs: folder, apiServerArgs })
    try {
      await saturated(server)
    } finally {
      await server.stop()
    }
  },
)

async function saturated(server: ControlPlane): Promise<void> {
  // Without a driver name, the chart permits changes of any Lease of the namespace. The test needs this permission.
  const objects = render({ files: [exampleFile('driver')], values: { ...VALUES, driver: { name: '' } } })
  for (const name of ['storage', 'noise']) {
    await server.api.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  }
  const [schema] = ofKind(objects, 'FlowSchema')
  await createAll(
    server,
    objects.filter(({ kind }) => kind !== 'FlowSchema'),
  )
  const account = podSpecs(objects)[0]?.serviceAccountName ?? ''
  const token = await tokenOf(server.api, 'storage', account)
  const tokens: string[] = []
  for (let index = 0; index < NOISY_ACCOUNTS; index += 1) tokens.push(await noisyAccount(server.api, `noise-${index}`))
  using webhook = await slowWebhook()
  await server.api.call('POST', '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    body: webhook.configuration,
  })
  const noise = new AbortController()
  const noises = tokens.map((each) => makeNoise(server, each, noise.signal))
  const before = await slowestRenewal(server, token)
  await server.api.call('POST', `${FLOW_CONTROL}/flowschemas`, { body: schema })
  await flowSchemaApplied(server.api, schema?.metadata?.name ?? '')
  const after = await slowestRenewal(server, token)
  noise.abort()
  await Promise.all(noises)
  process.stdout.write(`flowSchema: slowest renewal ${before} ms without it, ${after} ms with it\n`)
  ok(before > RENEW_DEADLINE_MS, `${before} ms`)
  ok(after < RENEW_DEADLINE_MS / 2, `${after} ms`)
}

/** Renews a Lease each second with this token. Returns the longest time between two renewals, in milliseconds. */
async function slowestRenewal(server: ControlPlane, token: string): Promise<number> {
  const api = new Api({ ...server, token })
  const leases = '/apis/coordination.k8s.io/v1/namespaces/storage/leases'
  const name = `lease-${performance.now().toFixed()}`
  const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec: {} }
  let lease = await server.api.call('POST', leases, { body })
  const end = performance.now() + SECONDS * 1000
  let [last, slowest] = [performance.now(), 0]
  await repeat(1000, async () => {
    const renewed = await orRefused(api.call('PUT', `${leases}/${name}`, { body: lease }))
    slowest = Math.max(slowest, performance.now() - last)
    if (renewed !== undefined) [lease, last] = [renewed, performance.now()]
    return performance.now() < end
  })
  api.close()
  return Math.round(slowest)
}

/** Returns the answer of the API server to a request, or undefined if it is overloaded (429). */
async function orRefused<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ApiRefusal && error.code === 429) return undefined
    throw error
  }
}

/** Sends writes until `signal` is aborted. Each write occupies a seat of the API server for seconds. */
async function makeNoise({ url, ca }: ControlPlane, token: string, signal: AbortSignal): Promise<void> {
  const api = new Api({ url, ca, token })
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'noise-' } }
  while (!signal.aborted) {
    await orRefused(api.call('POST', '/api/v1/namespaces/noise/configmaps?dryRun=All', { body }))
  }
  api.close()
}

async function noisyAccount(api: Api, name: string): Promise<string> {
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } }
  await api.call('POST', '/api/v1/namespaces/noise/serviceaccounts', { body: account })
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'noise', name }],
  }
  await api.call('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', { body: binding })
  return await tokenOf(api, 'noise', name)
}

interface Webhook extends Disposable {
  readonly configuration: object
}

/** Starts an admission webhook that answers after seconds, so that each ConfigMap of the load occupies a seat. */
async function slowWebhook(): Promise<Webhook> {
  const ca = makeAuthority('ca')
  const server = createServer(ca.server('webhook'), (asked, answer) => {
    asked.resume()
    void pause(SEAT_HELD_MS).then(() => answer.writeHead(500).end())
  })
  const { port, [Symbol.dispose]: close } = await listen(server)
  const webhook = {
    name: 'slow.example.com',
    clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: Buffer.from(ca.cert).toString('base64') },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'noise' } },
    failurePolicy: 'Ignore',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 10,
  }
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'slow' },
    webhooks: [webhook],
  }
  return { configuration, [Symbol.dispose]: close }
}
