import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { slow } from '../../harness/api/gate.ts'
import { attachment, csiNode, volume } from '../../harness/api/objects.ts'
import { testsOf } from '../../harness/test.ts'
import { pause } from '../../harness/waiting.ts'
import { attached, volumeCalls } from '../attacher/scene.ts'

const RESOURCES = {
  attacher: ['csinodes', 'persistentvolumes', 'volumeattachments'],
  resizer: ['persistentvolumeclaims', 'persistentvolumes', 'volumeattributesclasses'],
}

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'reads')

  test('watches ask for bookmarks and end after 5 to 10 minutes', async (t) => {
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME', 'MODIFY_VOLUME'] })
    const sidecar = await t.sidecar({ driver })
    await t.watching(sidecar, ...RESOURCES[app])
    await pause(700)
    const watches = sidecar.gate.requests.filter(({ watch, resource }) => watch && resource !== 'leases')
    for (const { query, path } of watches) {
      equal({ path, bookmarks: query['allowWatchBookmarks'] }, { path, bookmarks: 'true' })
      const seconds = Number(query['timeoutSeconds'])
      ok(seconds >= 300 && seconds <= 600, `${path} ends after ${seconds} s`)
    }
    const read = new Set(sidecar.gate.requests.map(({ resource }) => resource).filter((resource) => resource !== ''))
    const pods = app === 'resizer' && !t.ours ? ['pods'] : []
    equal([...read].sort(), [...RESOURCES[app], ...pods].sort())
  })

  // That of the one process begins with its own.
  test('a user agent that begins with the name', { notOne: true }, async (t) => {
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
    const sidecar = await t.sidecar({ driver })
    await t.watching(sidecar, 'persistentvolumes')
    for (const { userAgent } of sidecar.gate.requests) match(userAgent ?? '', new RegExp(`^csi-${app}/`))
  })
}

const attacher = testsOf('attacher', 'reads')

attacher('no work starts before every cache is filled', { only: 'ours' }, async (t) => {
  const gate = await t.gate()
  gate.rules.push(({ resource }) => (resource === 'csinodes' ? slow(1500) : undefined))
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const [node, pv, va] = [t.name('node'), t.name('pv'), t.name('va')]
  await t.create(CSI_NODES, csiNode(node, { [t.driverName]: `${node}-id` }))
  await t.create(PERSISTENT_VOLUMES, volume(pv, t.driverName))
  await t.create(VOLUME_ATTACHMENTS, attachment(va, t.driverName, { pv, node }))
  const sidecar = await t.sidecar({ driver, gate })
  await attached(t)
  equal(volumeCalls(driver).length, 1)
  const failures = sidecar.gate
    .writes('volumeattachments/status')
    .filter(({ body }) => JSON.stringify(body).includes('"message"'))
  equal(failures, [])
})
