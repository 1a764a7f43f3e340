import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { slow } from '../../harness/api/gate.ts'
import { testsOf } from '../../harness/test.ts'
import { pause } from '../../harness/waiting.ts'
import { attach, attached, volumeCalls } from '../attacher/scene.ts'

const RESOURCES = {
  attacher: ['csinodes', 'persistentvolumes', 'volumeattachments'],
  resizer: ['persistentvolumeclaims', 'persistentvolumes', 'volumeattributesclasses'],
}

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'reads')

  test('watches ask for bookmarks and end after 5 to 10 minutes', async (t) => {
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME', 'MODIFY_VOLUME'] })
    const sidecar = await t.running({ driver }, ...RESOURCES[app])
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

  // The user agent of the one process begins with its own name.
  test('a user agent that begins with the name', { notOne: true }, async (t) => {
    const sidecar = await t.running()
    for (const { userAgent } of sidecar.gate.requests) match(userAgent ?? '', new RegExp(`^csi-${app}/`))
  })
}

const attacher = testsOf('attacher', 'reads')

attacher('no work starts before every cache is filled', { only: 'ours' }, async (t) => {
  const gate = await t.gate()
  gate.inject('* csinodes', () => slow(1500))
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  await attach(t, { node: await t.createNode() })
  await t.sidecar({ driver, gate })
  await attached(t)
  equal(volumeCalls(driver).length, 1)
  equal(
    gate.writes('volumeattachments/status').filter(({ bytes }) => bytes.includes('"message"')),
    [],
  )
})
