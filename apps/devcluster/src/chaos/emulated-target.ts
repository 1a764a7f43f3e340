import type { Clock } from '@csi-sidecars/base'
import type { CsiDriver } from '@csi-sidecars/emulator'
import type { ChaosDriver } from './run.ts'

/** The emulated driver, which can be looked into. */
export function emulatedTarget(driver: CsiDriver, clock: Clock): ChaosDriver {
  return {
    name: driver.settings.name,
    watchCalls: (listener) => driver.log.subscribe(listener),
    publishedTo: (id) => [...(driver.volumes.get(id)?.attachments.keys() ?? [])],
    // Every node has a folder of its own, named after it; so is its id at the driver.
    mountedOn: (node, id) => {
      const volume = driver.volumes.get(id)
      const paths = [...(volume?.staged.keys() ?? []), ...(volume?.mounted.keys() ?? [])]
      return paths.filter((path) => path.includes(`/${node}/`))
    },
    async crash(forMs) {
      await driver.crash()
      await clock.sleep(forMs)
      await driver.restart()
    },
    calm: () => driver.restart(),
    left: async () => driver.volumes.all.map(({ id }) => `volume ${id} is left at the driver`),
  }
}
