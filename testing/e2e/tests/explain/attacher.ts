import { match, ok } from 'node:assert'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CSI_NODES, LEASES, type Lease, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { csiNode, lease } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import { leaseName } from '../../harness/subject.ts'
import { testsOf } from '../../harness/test.ts'
import { attach, attachAndWait, attachFailed, scene, untilAttachment } from '../../rows/attacher/scene.ts'
import { type Explanation, explained, PROXY_READER } from './ask.ts'
import { createLeader, ofThisMachine } from './leader.ts'

/** Tests that stage the stuck states of attachments in docs/operations.md, and check the answers of `explain`. */

const test = testsOf('attacher', 'explain')

const ELECTED = [
  '--leader-election',
  '--leader-election-namespace=default',
  '--leader-election-lease-duration=2s',
  '--leader-election-renew-deadline=1500ms',
  '--leader-election-retry-period=1s',
]

/** Waits until a leader holds the Lease, so that the Lease remains when the leader ends. */
async function led(t: TestContext): Promise<void> {
  const isHeld = ({ spec }: Lease): boolean => (spec?.holderIdentity ?? '') !== ''
  await t.api.until(LEASES, { namespace: 'default', name: leaseName('attacher', t.driverName) }, isHeld)
}

const common = { image: 'none', imageID: 'none' }

const DRIVER_CRASHES = {
  containerStatuses: [
    { ...common, name: 'csi-attacher', ready: true, restartCount: 0, state: { running: {} } },
    {
      ...common,
      name: 'csi-driver',
      ready: false,
      restartCount: 9,
      state: { waiting: { reason: 'CrashLoopBackOff' } },
    },
  ],
}

function explainedAttachment(t: TestContext, waitsFor: RegExp): Promise<Explanation> {
  const va = t.name('va')
  const waiter = `external-attacher of ${t.driverName}`
  return explained(t, ['va', va], { object: `VolumeAttachment ${va}`, waiter, waitsFor })
}

test('kubectl csi explain names the driver that is not registered on the node of an attachment', async (t) => {
  await scene(t)
  const node = await t.createNode('bare', { driver: 'other.example.com' })
  await attach(t, { node })
  await attachFailed(t)
  const { stdout } = await explainedAttachment(t, new RegExp(`driver ${t.driverName} to register on node ${node}`))
  match(stdout, /\.spec\.drivers\[\*\]\.name: other\.example\.com/)
  match(stdout, /How sure: certain/)
})

test('kubectl csi explain works for a CSINode whose list of drivers is null', { target: 'real' }, async (t) => {
  await scene(t)
  const node = t.name('empty')
  await t.create(CSI_NODES, csiNode(node, {}))
  await attach(t, { node })
  await attachFailed(t)
  const { stdout } = await explainedAttachment(t, new RegExp(`driver ${t.driverName} to register on node ${node}`))
  match(stdout, /\.spec\.drivers\[\*\]\.name: \(none\)/)
})

test('kubectl csi explain names the missing Secret of an attachment', async (t) => {
  const at = await scene(t)
  const controllerPublishSecretRef = { name: t.name('no'), namespace: 'default' }
  await attach(t, at, { pv: { csi: { controllerPublishSecretRef } } })
  await attachFailed(t)
  await explainedAttachment(t, new RegExp(`Secret default/${t.name('no')}, which cannot be read`))
})

test('kubectl csi explain reports that no attacher leads after the driver has disconnected', async (t) => {
  const args = [...ELECTED, ...(t.ours ? ['--driver-grace-period=1s'] : [])]
  const at = await scene(t, { args })
  await led(t)
  at.driver.kill()
  await attach(t, at)
  await explainedAttachment(t, /a leader, and no replica leads/)
})

test('kubectl csi explain names the crashing driver container in the pod of the leader', async (t) => {
  const hostname = t.name('pod')
  const at = await scene(t, { args: ELECTED, hostname })
  await createLeader(t, 'attacher', { name: hostname, status: DRIVER_CRASHES })
  await led(t)
  at.driver.kill()
  await attach(t, at)
  const crashes = new RegExp(`container csi-driver of Pod default/${hostname} .*CrashLoopBackOff`)
  const { stdout } = await explainedAttachment(t, crashes)
  match(stdout, /\.status\.containerStatuses\[csi-driver\]: not ready, waiting: CrashLoopBackOff/)
})

test('kubectl csi explain reports a driver that accepts connections but does not answer', async (t) => {
  const at = await scene(t, { args: ['--timeout=1s'] })
  at.driver.on('ControllerPublishVolume', 'hang')
  await attach(t, at)
  await attachFailed(t, 'DeadlineExceeded')
  await explainedAttachment(t, new RegExp(`driver ${t.driverName} to answer, which takes longer than the time-out`))
})

test('kubectl csi explain reports a node that can attach no more volumes', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerPublishVolume', { code: 8, message: 'max volumes reached' })
  await attach(t, at)
  await attachFailed(t, 'ResourceExhausted')
  const room = new RegExp(`room for one more volume of ${t.driverName} on node ${at.node}`)
  const { stdout } = await explainedAttachment(t, room)
  match(stdout, /max volumes reached/)
})

test('kubectl csi explain reports that a deleted PersistentVolume is still attached', async (t) => {
  const at = await scene(t)
  const { pv, va } = await attachAndWait(t, at)
  // `strip` removes the finalizer only after the deletion, because the attacher would otherwise restore the finalizer.
  // The attacher must notice the deletion of the volume before it detaches.
  await t.remove(PERSISTENT_VOLUMES, { name: pv }, () => t.strip(PERSISTENT_VOLUMES, { name: pv }))
  await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
  await untilAttachment(t, ({ status }) => status?.detachError !== undefined)
  const { stdout } = await explainedAttachment(t, new RegExp(`PersistentVolume ${pv}, which does not exist`))
  // The output warns of data loss before it shows the command that removes the finalizer.
  match(stdout, /destroy its data[\s\S]*Then, and only then[\s\S]*kubectl patch volumeattachment/)
})

test('kubectl csi explain reports that no attacher holds the Lease', async (t) => {
  const at = await scene(t, { args: ELECTED })
  await led(t)
  await at.attacher.endBy('SIGKILL')
  await attach(t, at)
  const { stdout } = await explainedAttachment(t, /a leader, and no replica leads/)
  match(stdout, /\.spec\.renewTime: \d{4}-/)
})

// The API server must be real, because the emulator has no pods/proxy.
test('kubectl csi reads the pending work of the leader through pods/proxy', { target: 'real' }, async (t) => {
  const [name, va] = [t.name('pod'), t.name('va')]
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    const object = { kind: 'VolumeAttachment', namespace: '', name: va }
    const work = { operation: 'attach', state: 'calling', since: new Date().toISOString(), stuck: true, tries: 3 }
    const item = { driver: t.driverName, sidecar: 'external-attacher', object, ...work }
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ items: [item], total: 1 }))
  }).listen(0, '0.0.0.0')
  try {
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await createLeader(t, 'attacher', { name, args: [`--http-endpoint=:${port}`], status: ofThisMachine() })
    const renewTime = new Date().toISOString().replace('Z', '000Z')
    const spec = { holderIdentity: name, leaseDurationSeconds: 600, renewTime }
    await t.create(LEASES, lease(leaseName('attacher', t.driverName), spec))
    const node = await t.createNode('node')
    await attach(t, { node })
    const { stdout } = await explained(t, ['va', va], {
      object: `VolumeAttachment ${va}`,
      waiter: `external-attacher of ${t.driverName}`,
      waitsFor: new RegExp(`driver ${t.driverName} to answer its call`),
      rules: PROXY_READER,
    })
    ok(stdout.includes('tries: 3'), stdout)
    ok(asked.includes('/debug/stuck?limit=500'), asked.join())
  } finally {
    server.close()
  }
})
