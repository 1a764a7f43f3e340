import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aborted, systemClock } from '@csi-sidecars/base'
import { startCsiDriver } from '@csi-sidecars/emulator'
import { silentLogger } from '@csi-sidecars/telemetry'
import { expect, it } from '@jest/globals'
import { DriverGoneError, refuseServed, startDriverProcesses } from './driver-process.ts'

it('a driver is not started where something answers already', async () => {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'served-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const [free, served] = ['free.sock', 'csi.sock'].map((name) => `unix://${join(directory, name)}`)
  stack.use(await startCsiDriver({ socket: join(directory, 'csi.sock'), clock: systemClock }))
  await expect(refuseServed([free ?? ''])).resolves.toBeUndefined()
  await expect(refuseServed([free ?? '', served ?? ''])).rejects.toThrow(
    `--driver-command: something answers at ${served} already; end it, or leave out --driver-command`,
  )
})

it('a driver that ends again and again is gone', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gone-'))
  const parts = { logFile: join(directory, 'driver.log'), clock: systemClock, log: silentLogger }
  const own = await startDriverProcesses(['sh -c "exit 3"'], parts)
  try {
    expect(await aborted(own.gone)).toEqual(new DriverGoneError('the driver ended with code 3, 8 times in a row'))
  } finally {
    await own.stop()
    await rm(directory, { recursive: true, force: true })
  }
}, 30_000)
