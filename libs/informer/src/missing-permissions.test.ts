import { FakeClock } from '@csi-sidecars/base/testing'
import { ApiError, type KubeClient } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES, PODS, VOLUME_ATTRIBUTES_CLASSES } from '@csi-sidecars/kube-types'
import { Metrics } from '@csi-sidecars/telemetry'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { expect, it } from '@jest/globals'
import { MissingPermissions } from './missing-permissions.ts'
import { ThingCache } from './testing/thing-cache.ts'

const FORBIDDEN = new ApiError({ code: 403, reason: 'Forbidden', message: 'User "sa" cannot list resource "things"' })
const LINE = 'A permission is missing: add this rule to the role of the service account'

it('a refused cache logs the rule to add once in ten minutes, and no other error', async () => {
  const cache = new ThingCache()
  const metrics = new Metrics()
  const missing = new MissingPermissions({ clock: cache.clock, log: cache.log, metrics })
  const { client: allowing } = cache.server
  let forbidden = true
  const client: KubeClient = {
    ...allowing,
    list: (...given) => {
      if (forbidden) throw FORBIDDEN
      return allowing.list(...given)
    },
    watch: (...given) => {
      if (forbidden) throw FORBIDDEN
      return allowing.watch(...given)
    },
  }
  cache.create({ client, missing })
  await cache.start()
  await cache.clock.advance(1_500_000)
  const errors = cache.log.lines.filter(({ level }) => level === 'error')
  const line = { message: LINE, error: FORBIDDEN, pairs: { rule: 'things.example.com: get, list, watch' } }
  expect(errors).toMatchObject([line, line, line])
  expect(missing.rules).toEqual(['things.example.com: get, list, watch'])
  expect(await metrics.text()).toContain('csi_sidecar_missing_permission{resource="things.example.com"} 1\n')

  forbidden = false
  await cache.clock.advance(60_000)
  expect(cache.informer.store.synced).toBe(true)
  expect(missing.rules).toEqual([])
  expect(await metrics.text()).not.toContain('csi_sidecar_missing_permission{')
  expect(cache.log.lines.at(-1)).toMatchObject({ message: 'The missing permission was granted' })
  await cache.end()
})

it('each resource and each namespace has its own rule', () => {
  const log = recordingLogger()
  const missing = new MissingPermissions({ clock: new FakeClock(), log })
  missing.refused({ resource: VOLUME_ATTRIBUTES_CLASSES }, 'list', FORBIDDEN)
  missing.refused({ resource: PERSISTENT_VOLUMES }, 'list', FORBIDDEN)
  missing.refused({ resource: PODS, namespace: 'a' }, 'list', FORBIDDEN)
  missing.allowed({ resource: PODS, namespace: 'b' }, 'list')
  expect(missing.rules).toEqual([
    'persistentvolumes: get, list, watch',
    'pods in namespace a: get, list, watch',
    'volumeattributesclasses.storage.k8s.io: get, list, watch',
  ])
  expect(log.lines).toHaveLength(3)
})

it('a list that succeeds does not end the refusal of a watch', () => {
  const log = recordingLogger()
  const missing = new MissingPermissions({ clock: new FakeClock(), log })
  missing.refused({ resource: PERSISTENT_VOLUMES }, 'watch', FORBIDDEN)
  missing.allowed({ resource: PERSISTENT_VOLUMES }, 'list')
  expect(missing.rules).toEqual(['persistentvolumes: get, list, watch'])
  missing.allowed({ resource: PERSISTENT_VOLUMES }, 'watch')
  expect(missing.rules).toEqual([])
})
