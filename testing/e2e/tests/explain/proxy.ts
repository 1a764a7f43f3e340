import { ok } from 'node:assert'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { LEASES } from '@csi-sidecars/kube-types'
import { lease } from '../../harness/api/objects.ts'
import { leaseName } from '../../harness/subject.ts'
import { testsOf } from '../../harness/test.ts'
import { attach } from '../attacher/scene.ts'
import { explained, READER } from './ask.ts'
import { createLeader } from './leader.ts'

/**
 * Tests of requests to a leader through the API server's proxy to pods. The emulator has no such proxy, and a real API
 * server refuses to connect to a loopback address.
 */

const test = testsOf('attacher', 'explain')

test('reads the pending work of the leader through the proxy to its pod', { target: 'real' }, async (t) => {
  const address = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address
  ok(address !== undefined, 'the API server proxies to no loopback address: a machine with another one is needed')
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
    const status = { podIP: address, podIPs: [{ ip: address }] }
    await createLeader(t, { name, args: [`--http-endpoint=:${port}`], status })
    const renewTime = new Date().toISOString().replace('Z', '000Z')
    const spec = { holderIdentity: name, leaseDurationSeconds: 600, renewTime }
    await t.create(LEASES, lease(leaseName('attacher', t.driverName), spec))
    const node = await t.createNode('node')
    await attach(t, { node })
    const { stdout } = await explained(t, ['va', va], {
      object: `VolumeAttachment ${va}`,
      waiter: `external-attacher of ${t.driverName}`,
      waitsFor: new RegExp(`driver ${t.driverName} to answer its call`),
      rules: [...READER, { apiGroups: [''], resources: ['pods/proxy'], verbs: ['get'] }],
    })
    ok(stdout.includes('tries: 3'), stdout)
    ok(asked.includes('/debug/stuck?limit=500'), asked.join())
  } finally {
    server.close()
  }
})
