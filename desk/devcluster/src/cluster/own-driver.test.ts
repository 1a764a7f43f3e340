import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deadline, systemClock } from '@csi-sidecars/base'
import { startCsiDriver } from '@csi-sidecars/emulator'
import { CSI_DRIVERS, PERSISTENT_VOLUME_CLAIMS, PODS, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { expect, it, jest } from '@jest/globals'
import { claimOf, inDefault, isRunning, podOf } from '../testing/cluster.ts'
import { startSubstitutes } from '../testing/substitutes.ts'
import { startDevcluster } from './devcluster.ts'

jest.setTimeout(30_000)

it("the cluster unmounts the volumes of the user's own driver before the cluster ends", async () => {
  const directory = await mkdtemp(join(tmpdir(), 'own-driver-'))
  const driver = await startCsiDriver({ socket: join(directory, 'own.sock'), controller: ['CREATE_DELETE_VOLUME'] })
  try {
    using limit = deadline(systemClock, 20_000, { operation: 'starting a cluster' })
    const cluster = await startDevcluster(
      {
        nodes: 1,
        driver: driver.address,
        data: join(directory, 'nodes'),
        directory: join(directory, 'cluster'),
        clock: systemClock,
        log: silentLogger,
        onTrouble: (message) => {
          throw new Error(message)
        },
      },
      limit.signal,
    )
    const { client, api } = cluster
    startSubstitutes(cluster, { clock: systemClock, log: silentLogger }, ['csi-provisioner'])
    expect((await client.get(CSI_DRIVERS, { name: driver.settings.name })).spec.attachRequired).toBe(false)
    await client.create(STORAGE_CLASSES, { metadata: { name: 'fast' }, provisioner: driver.settings.name })
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await client.create(PODS, podOf('app', 'node-1', 'data'))
    await api?.until(PODS, { ...inDefault('app'), timeoutMs: 15_000 }, isRunning)
    const mountedNow = (): readonly number[] =>
      driver.volumes.all.map(({ staged, mounted }) => staged.size + mounted.size)
    expect([mountedNow(), cluster.mounted().length]).toEqual([[2], 2])
    await cluster.stop()
    expect([mountedNow(), cluster.mounted()]).toEqual([[0], []])
  } finally {
    await driver.stop()
    await rm(directory, { recursive: true, force: true })
  }
})
