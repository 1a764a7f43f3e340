import type { Driver, DriverCapabilities } from '@csi-sidecars/csi'

export interface Wrapping {
  readonly call: Driver['call']
  /** Without it those of the driver. */
  readonly capabilities?: () => DriverCapabilities
}

/** A driver that is called in another way, and otherwise as it is at each moment. */
export function wrappedDriver(driver: Driver, { call, capabilities }: Wrapping): Driver {
  return {
    get name() {
      return driver.name
    },
    get capabilities() {
      return capabilities?.() ?? driver.capabilities
    },
    get state() {
      return driver.state
    },
    get lostForMs() {
      return driver.lostForMs
    },
    failure: driver.failure,
    call,
    subscribe: (listener) => driver.subscribe(listener),
    close: () => driver.close(),
  }
}
