import type { CreateVolumeRequest } from '@csi-sidecars/csi-proto'
import { DriverFailure } from '@csi-sidecars/emulator'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { expect, it, jest } from '@jest/globals'
import { inDefault, startTestCluster, claimOf as usualClaim } from '../../src/testing/cluster.ts'

jest.setTimeout(20_000)

it('a claim with another one for its source gets a clone of its volume, as soon as there is one', async () => {
  await using test = await startTestCluster({
    controllers: ['persistent-volume', 'provisioner'],
    substitutes: [],
    driver: { controller: ['CREATE_DELETE_VOLUME', 'CLONE_VOLUME'] },
  })
  const { api, cluster, driver, until } = test
  const source = { kind: 'PersistentVolumeClaim', name: 'source' }
  await cluster.client.create(PERSISTENT_VOLUME_CLAIMS, usualClaim('copy', { spec: { dataSource: source } }))
  await cluster.client.create(PERSISTENT_VOLUME_CLAIMS, usualClaim('source'))
  api.create(
    PERSISTENT_VOLUME_CLAIMS,
    usualClaim('planned', { spec: { storageClassName: 'fast', dataSource: source, dataSourceRef: source } }),
  )
  for (const name of ['copy', 'planned']) {
    await until(PERSISTENT_VOLUME_CLAIMS, inDefault(name), ({ status }) => status?.phase === 'Bound')
  }
  const [first] = driver.volumes.all.filter((volume) => volume.source === undefined)
  const clones = driver.volumes.all.filter((volume) => volume.source !== undefined)
  expect(clones.map((clone) => clone.source?.id)).toEqual([first?.id, first?.id])
})

it('nothing is left of a clone without an answer, also if it and its source are deleted', async () => {
  await using test = await startTestCluster({
    controllers: ['persistent-volume', 'provisioner'],
    substitutes: [],
    driver: { controller: ['CREATE_DELETE_VOLUME', 'CLONE_VOLUME'] },
  })
  const { api, cluster, driver, until, untilGone, untilAll } = test
  await cluster.client.create(PERSISTENT_VOLUME_CLAIMS, usualClaim('source'))
  await until(PERSISTENT_VOLUME_CLAIMS, inDefault('source'), ({ status }) => status?.phase === 'Bound')
  let answers = false
  driver.script('CreateVolume', (request: CreateVolumeRequest) => {
    const answer = driver.own('CreateVolume', request)
    if (!answers) throw new DriverFailure('UNAVAILABLE', 'the answer is lost')
    return answer
  })
  const source = { kind: 'PersistentVolumeClaim', name: 'source' }
  await cluster.client.create(PERSISTENT_VOLUME_CLAIMS, usualClaim('copy', { spec: { dataSource: source } }))
  await driver.log.until({ method: 'CreateVolume', code: 14 })
  for (const name of ['copy', 'source']) {
    await cluster.client.delete(PERSISTENT_VOLUME_CLAIMS, inDefault(name))
    await untilGone(PERSISTENT_VOLUME_CLAIMS, inDefault(name))
  }
  await untilAll(PERSISTENT_VOLUMES, (volumes) => volumes.length === 0)
  expect(driver.volumes.all).toHaveLength(1)
  answers = true
  await driver.log.until({ method: 'DeleteVolume', volumeId: driver.volumes.all[0]?.id ?? '', code: 0 })
  expect([driver.volumes.all, api.list(PERSISTENT_VOLUME_CLAIMS)]).toEqual([[], []])
})
