import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { expect, it, jest } from '@jest/globals'
import { claimOf } from '../chaos/objects.ts'
import { inDefault, startTestCluster, claimOf as usualClaim } from '../testing/cluster.ts'

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
  const made = claimOf({ do: 'createClaim', claim: 'planned', size: 1, shared: false, from: 'source' })
  api.create(PERSISTENT_VOLUME_CLAIMS, { ...made, spec: { ...made.spec, storageClassName: 'fast' } })
  for (const name of ['copy', 'planned']) {
    await until(PERSISTENT_VOLUME_CLAIMS, inDefault(name), ({ status }) => status?.phase === 'Bound')
  }
  const [first] = driver.volumes.all.filter((volume) => volume.source === undefined)
  const clones = driver.volumes.all.filter((volume) => volume.source !== undefined)
  expect(clones.map((clone) => clone.source)).toEqual([first?.id, first?.id])
})
