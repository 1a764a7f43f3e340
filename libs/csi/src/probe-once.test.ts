import { createServer } from 'node:net'
import { systemClock } from '@csi-sidecars/base'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, expect, test } from '@jest/globals'
import { ConnectError } from './errors/rpc-error.ts'
import { probeOnce } from './probe.ts'
import { closeAll, closeLater, failureOf } from './testing/connected.ts'
import { type ScriptedDriver, scriptedDriver, socketPath } from './testing/scripted-driver.ts'

afterEach(closeAll)

const probed = (address: string, timeoutMs = 5_000): Promise<boolean> =>
  probeOnce({ address, clock: systemClock, log: silentLogger, timeoutMs })

async function driverWith(answer: ScriptedDriver['answers'][string]): Promise<string> {
  const driver = await scriptedDriver({ answers: { Probe: answer } })
  closeLater(driver.stop)
  return driver.socket
}

test.each([
  [{}, true],
  [{ ready: true }, true],
  [{ ready: false }, false],
])('a driver is ready if Probe returns %j: %s', async (answer, ready) => {
  expect(await probed(await driverWith(answer))).toBe(ready)
})

test.each([5, 9, 14])('an error with code %i from the driver names the driver as its origin', async (code) => {
  const socket = await driverWith({ code, details: 'no' })
  expect(await failureOf(probed(socket) as never)).toMatchObject({ code, details: 'no', origin: 'driver' })
})

test('the error of a Probe that times out does not name the driver as its origin', async () => {
  const socket = await driverWith('silence')
  const error = await failureOf(probed(socket, 200) as never)
  expect(error).toMatchObject({ codeName: 'DeadlineExceeded', origin: 'none' })
})

test('the error of a Probe does not name the driver as its origin if the driver ends during the call', async () => {
  const driver: ScriptedDriver = await scriptedDriver({ answers: {} })
  driver.answers['Probe'] = () => {
    driver.stop()
    return 'silence'
  }
  expect(await failureOf(probed(driver.socket) as never)).toMatchObject({ codeName: 'Unavailable', origin: 'none' })
})

test('a driver that accepts a connection but sends nothing, like a stopped process, causes a ConnectError', async () => {
  const server = createServer(() => {})
  const address = socketPath()
  await new Promise<void>((resolve) => server.listen(address, resolve))
  closeLater(() => server.close())
  await expect(probed(address, 200)).rejects.toBeInstanceOf(ConnectError)
})
