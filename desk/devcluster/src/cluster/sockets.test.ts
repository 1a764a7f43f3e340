import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { NodeUnpublishVolume } from '@csi-sidecars/csi-proto'
import { answered } from '@csi-sidecars/disturb'
import { DriverFailure, startCsiDriver } from '@csi-sidecars/emulator'
import { silentLogger } from '@csi-sidecars/telemetry'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { expect, it } from '@jest/globals'
import { openNodes, openSockets } from './sockets.ts'

it('a proxy of each driver socket reports and logs every call with its result', async () => {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'sockets-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const ownDriver = await startCsiDriver({ socket: join(directory, 'own.sock') })
  const node = await startCsiDriver({ socket: join(directory, 'node.sock') })
  for (const each of [ownDriver, node]) stack.use(each)
  const log = recordingLogger()
  const deps = { directory, clock: systemClock, log }
  const { signal } = new AbortController()
  const ownSockets = { driver: ownDriver.address, nodeSockets: [node.address] }
  const sockets = await openSockets({ ...deps, ...ownSockets }, stack, signal)
  expect(sockets.nodes).toHaveLength(1)
  const seen: string[] = []
  stack.defer(answered(sockets.liveCalls)(({ method, code }) => seen.push(`${method} ${code}`)))

  const [driver] = await openNodes(sockets.nodes, { ...deps, signal, stack })
  const limits = { timeoutMs: 10_000 }
  const request = { volumeId: 'vol', targetPath: '/t' }
  await expect(driver?.call(NodeUnpublishVolume, request, limits)).rejects.toThrow('does not exist')

  expect(ownDriver.calls.map(({ method }) => method)).not.toContain('NodeUnpublishVolume')
  expect(seen).toContain('NodeUnpublishVolume 5')
  const pairs = { address: node.address, method: 'NodeUnpublishVolume', volumeId: 'vol', answer: 'NotFound' }
  expect(log.lines.filter(({ message }) => message === 'CSI call').at(-1)).toMatchObject({ pairs })
})

it("a driver that does not answer causes an error with the driver's address and the call", async () => {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'sockets-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const ownDriver = stack.use(await startCsiDriver({ socket: join(directory, 'own.sock') }))
  ownDriver.script('GetPluginInfo', () => {
    throw new DriverFailure('INTERNAL', 'no name yet')
  })
  const options = { directory, clock: systemClock, log: silentLogger, driver: ownDriver.address }
  await expect(openSockets(options, stack, new AbortController().signal)).rejects.toThrow(
    `the CSI driver at ${ownDriver.address} does not answer GetPluginInfo: `,
  )
})
