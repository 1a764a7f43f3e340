import { deepStrictEqual as equal, match } from 'node:assert'
import { type KubeObject, LEASES, PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { makeAuthority } from '@csi-sidecars/testkit'
import { EXAMPLES, type Example, exampleFile, helmPath, render } from '../../../../charts/tests/helm.ts'
import { podSpecs } from '../../../../charts/tests/manifest.ts'
import { ApiRefusal } from '../../harness/api/api.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { Scraper } from '../../harness/process/scraper.ts'
import { leaseName, type Subject } from '../../harness/subject.ts'
import { sharingCode, testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { attached, detachAndWait } from '../../rows/attacher/scene.ts'
import { claimRef, provision, setPhase, deleted as volumeDeleted } from '../../rows/provisioner/scene.ts'
import { ask, grown, resized } from '../../rows/resizer/scene.ts'
import {
  groupRemoved,
  groupTaken,
  installCrds,
  snapshotDriver,
  snapshotTaken,
  untilRemoved,
} from '../../rows/snapshotter/scene.ts'
import { surroundings } from '../../rows/work.ts'
import { boundOn, createSite, nodeDriver, onNodes } from '../node-deployment/owners.ts'
import { files } from '../secure/tls.ts'
import { createAll, createNamespace, type Installation, installed, renderInto, tokenOf } from './rendered.ts'

/** Tests of the rendered chart on a real API server, and of sidecars with its arguments and rights. They need Helm. */

const DRIVERLESS = { only: 'ours', target: 'real' } as const
const test = helmPath() === undefined ? () => undefined : testsOf('attacher', 'chart')
const resizerTest = helmPath() === undefined ? () => undefined : testsOf('resizer', 'chart')
const provisionerTest = helmPath() === undefined ? () => undefined : testsOf('provisioner', 'chart')
const snapshotterTest = helmPath() === undefined ? () => undefined : testsOf('snapshotter', 'chart')
const bothTest = helmPath() === undefined ? () => undefined : testsOf('both', 'chart')
if (helmPath() === undefined) process.stdout.write('no tests of the chart: Helm is missing\n')

for (const example of EXAMPLES) {
  test(`the API server accepts every object of example ${example}`, DRIVERLESS, async (t) => {
    const objects = await renderInto(t, { files: [exampleFile(example)], tests: true })
    await createAll(t, objects, '?dryRun=All&fieldValidation=Strict')
  })
}

/** Returns `admitted`, or the error message of Pod Security admission for the example's pod. */
async function admission(t: TestContext, namespace: string, example: Example): Promise<string> {
  const [spec] = podSpecs(render({ files: [exampleFile(example)] }))
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name: 'pod' }, spec }
  try {
    await t.api.call('POST', `/api/v1/namespaces/${namespace}/pods?dryRun=All`, { body: pod })
    return 'admitted'
  } catch (error) {
    if (error instanceof ApiRefusal && error.code === 403) return error.message
    throw error
  }
}

test('the pods of each example pass the Pod Security level that the example promises', DRIVERLESS, async (t) => {
  const [restricted, baseline] = [t.name('restricted'), t.name('baseline')]
  await createNamespace(t, restricted, { 'pod-security.kubernetes.io/enforce': 'restricted' })
  await createNamespace(t, baseline, { 'pod-security.kubernetes.io/enforce': 'baseline' })
  equal(await admission(t, restricted, 'restricted'), 'admitted')
  equal(await admission(t, baseline, 'driver'), 'admitted')
  match(await admission(t, restricted, 'driver'), /violates PodSecurity "restricted/)
})

interface Working {
  readonly running: RunningSidecar
  /** Asserts that the sidecar is ready, that exactly `leases` Leases exist, and that no request was refused. */
  readonly sufficed: (leases: number) => Promise<void>
}

/** Starts a sidecar with exactly the arguments and permissions that the chart renders, under its service account. */
async function ofDriver(
  t: TestContext,
  app: Subject,
  { values, ...setup }: Omit<Installation, 'example'>,
): Promise<Working> {
  const logging = { verbosity: 5 }
  const { running, metricsPort } = await installed(t, app, {
    example: 'driver',
    ...setup,
    values: { logging, ...values },
  })
  const sufficed = async (leases: number): Promise<void> => {
    equal(await (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).text(), 'ok')
    equal((await t.api.list(LEASES, t.name('storage'))).length, leases)
    equal(refusedOf(t, running), [])
  }
  return { running, sufficed }
}

/** Returns the audit log lines of requests that the API server has refused with 403. */
function refusedOf(t: TestContext, running: RunningSidecar): string[] {
  return t.cluster.auditOf([running.user]).filter((line) => line.includes('"code":403'))
}

resizerTest(
  'the arguments and permissions of the chart are sufficient for a resizer on each node',
  DRIVERLESS,
  async (t) => {
    const node = await createSite(t)
    const driver = await nodeDriver(t)
    await t.createClass()
    const values = {
      controller: { kind: 'DaemonSet' },
      leaderElection: { enabled: false },
      resizer: { nodeDeployment: true },
    }
    const env = { NODE_NAME: node }
    const { running: resizer, sufficed } = await ofDriver(t, 'resizer', { driver, values, env })
    await t.watching(resizer, 'persistentvolumeclaims', 'persistentvolumes', 'nodes', 'csinodes')
    await boundOn(t, onNodes(t, node))
    await ask(t, '2Gi')
    await resized(t, '2Gi')
    await sufficed(0)
  },
)

bothTest('the permissions of the chart suffice for one process with a single Lease', DRIVERLESS, async (t) => {
  const driver = await t.fullDriver()
  const node = await surroundings(t)
  const values = { sidecars: { singleLease: 'one-lease' } }
  const { running, sufficed } = await ofDriver(t, 'both', { driver, values })
  await running.line('became leader, starting')
  await grown(t)
  await t.createAttachment('va', { pv: t.name('pv'), node })
  await attached(t)
  await detachAndWait(t)
  const [lease] = await t.api.list(LEASES, t.name('storage'))
  equal(lease?.metadata?.name, 'one-lease')
  await sufficed(1)
})

/** Creates, checks and deletes a snapshot and a group snapshot. */
async function takeSnapshots(t: TestContext): Promise<void> {
  await snapshotTaken(t)
  await groupTaken(t)
  await untilRemoved(t)
  await groupRemoved(t)
}

/** Provisions a volume, releases it and waits for its deletion. */
async function provisionAndDelete(t: TestContext): Promise<void> {
  const pv = (await provision(t, { suffix: '-new' })).metadata?.name ?? ''
  await t.strip(PERSISTENT_VOLUME_CLAIMS, claimRef(t, '-new'))
  await setPhase(t, pv, 'Released')
  await volumeDeleted(t, pv)
}

snapshotterTest('the permissions of the chart suffice for snapshots and group snapshots', DRIVERLESS, async (t) => {
  await installCrds(t)
  const driver = await snapshotDriver(t)
  const { running, sufficed } = await ofDriver(t, 'snapshotter', { driver })
  await t.watching(running, 'volumesnapshotcontents', 'volumegroupsnapshotcontents')
  await takeSnapshots(t)
  await sufficed(1)
})

provisionerTest(
  'the arguments and permissions of the chart are sufficient for the provisioner with capacity tracking',
  DRIVERLESS,
  async (t) => {
    await installCrds(t)
    await t.createClass()
    await createSite(t)
    const namespace = t.name('storage')
    const driver = await t.driver({ controller: ['CREATE_DELETE_VOLUME', 'GET_CAPACITY'], topology: true })
    driver.on('GetCapacity', { reply: { availableCapacity: 1024n } })
    const { running, sufficed } = await ofDriver(t, 'provisioner', {
      driver,
      values: { provisioner: { capacity: { enabled: true, immediateBinding: true, pollInterval: '1s' } } },
      env: { NAMESPACE: namespace, POD_NAME: 'pod' },
      prepare: () => createOwners(t, namespace),
    })
    await t.watching(running, 'persistentvolumeclaims', 'persistentvolumes', 'storageclasses')
    await provisionAndDelete(t)
    const path = `/apis/storage.k8s.io/v1/namespaces/${namespace}/csistoragecapacities`
    const [capacity] = await eventually('an object', async () => {
      const { items } = await t.api.call<{ items: KubeObject[] }>('GET', path)
      return items.length > 0 && items
    })
    const owners = capacity?.metadata?.ownerReferences?.map(({ kind, name }) => `${kind} ${name}`)
    equal(owners, ['Deployment deployment'])
    await sufficed(1)
  },
)

/** Creates the pod of the provisioner with its owners, a Deployment and a ReplicaSet. */
async function createOwners(t: TestContext, namespace: string): Promise<void> {
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'c' }] } }
  const spec = { replicas: 0, selector: { matchLabels: { a: 'b' } }, template }
  let owner: KubeObject | undefined
  for (const [kind, group, body] of [
    ['Deployment', '/apis/apps/v1', { spec }],
    ['ReplicaSet', '/apis/apps/v1', { spec }],
    ['Pod', '/api/v1', { spec: { ...template.spec, automountServiceAccountToken: false } }],
  ] as const) {
    const { name = '', uid = '' } = owner?.metadata ?? {}
    const ownerReferences = owner && [{ apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller: true }]
    const metadata = { namespace, name: kind.toLowerCase(), labels: { a: 'b' }, ownerReferences }
    const object = { apiVersion: group.replace(/^\/apis?\//, ''), kind, metadata, ...body }
    const made = await t.api.call<KubeObject>('POST', `${group}/namespaces/${namespace}/${kind.toLowerCase()}s`, {
      body: object,
    })
    owner = { ...object, metadata: { ...made.metadata } } as KubeObject
  }
}

bothTest(
  'the arguments and permissions of the chart are sufficient for all sidecars in one process',
  DRIVERLESS,
  async (t) => {
    await installCrds(t)
    const driver = await snapshotDriver(t, ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME', 'CREATE_DELETE_VOLUME'])
    const node = await surroundings(t)
    const values = { provisioner: { enabled: true }, snapshotter: { enabled: true } }
    const { running, sufficed } = await ofDriver(t, 'both', { driver, values })
    await t.watching(running, 'volumeattachments', 'persistentvolumes', 'csinodes', 'persistentvolumeclaims')
    await t.watching(running, 'volumesnapshotcontents', 'volumegroupsnapshotcontents', 'storageclasses')
    await grown(t)
    await t.createAttachment('va', { pv: t.name('pv'), node })
    await attached(t)
    await detachAndWait(t)
    await provisionAndDelete(t)
    await takeSnapshots(t)
    await sufficed(4)
  },
)

/** Replaces the folders of certificates in the rendered arguments by the folder of the test. */
function argsIn(t: TestContext, args: readonly string[]): readonly string[] {
  return args.map((argument) =>
    argument.replace(/=\/etc\/csi-sidecars-(client-ca|tls)\//, (_, volume: string) => {
      return `=${t.folder}/${volume === 'tls' ? '' : 'client-'}`
    }),
  )
}

const ca = makeAuthority('ca')

for (const app of sharingCode('attacher')) {
  const testOf = app === 'attacher' ? test : resizerTest

  testOf('the Lease permissions of the chart are sufficient for the Go sidecar', DRIVERLESS, async (t) => {
    const { running } = await ofDriver(t, app, { driver: await t.fullDriver(), binary: t.original(app) })
    await running.line('became leader, starting')
    const lease = { namespace: t.name('storage'), name: leaseName(app, t.driverName) }
    await t.api.until(LEASES, lease, ({ spec }) => {
      return spec?.renewTime !== undefined && spec.renewTime !== spec.acquireTime
    })
    const ofLeases = refusedOf(t, running).filter((line) => line.includes('leases'))
    equal(ofLeases, [])
  })

  testOf('the sidecar cannot read the Lease of another driver', DRIVERLESS, async (t) => {
    const { running } = await ofDriver(t, app, { driver: await t.fullDriver() })
    await running.line('became leader, starting')
    const path = `/apis/coordination.k8s.io/v1/namespaces/${t.name('storage')}/leases/other`
    const { port } = new URL(t.cluster.url)
    const account = new Scraper({ port: Number(port), ca: t.cluster.ca, token: running.user.token })
    equal(await account.code(path), 403)
    equal(await account.code(path.replace(/other$/, leaseName(app, t.driverName))), 200)
  })

  testOf('with examples/secure.yaml, only Prometheus has access to the metrics', DRIVERLESS, async (t) => {
    const driver = await t.fullDriver()
    const monitoring = t.name('monitoring')
    await createNamespace(t, monitoring)
    for (const name of ['prometheus-k8s', 'other']) {
      const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } }
      await t.api.call('POST', `/api/v1/namespaces/${monitoring}/serviceaccounts`, { body: account })
    }
    files(t, ca.server('endpoint'), ca.cert)
    const values = {
      authorization: { scrapers: [{ kind: 'ServiceAccount', name: 'prometheus-k8s', namespace: monitoring }] },
    }
    const args = (rendered: readonly string[]): readonly string[] => argsIn(t, rendered)
    const { metricsPort } = await installed(t, app, { example: 'secure', driver, values, args })
    const scraper = async (account: string): Promise<Scraper> =>
      new Scraper({ port: metricsPort, ca: ca.cert, token: await tokenOf(t.api, monitoring, account) })
    const probe = new Scraper({ port: metricsPort })
    await eventually('readiness', async () => (await probe.code('/readyz')) === 200)
    equal(await (await scraper('prometheus-k8s')).code('/metrics'), 200)
    equal(await (await scraper('other')).code('/metrics'), 403)
    equal(await probe.code('/metrics'), 401)
  })
}
