import { PluginCapability_Service_Type, PluginCapability_VolumeExpansion_Type } from '@csi-sidecars/csi-proto'
import type { Response } from './methods.ts'
import type { DriverSettings } from './settings.ts'

export class EmulatedIdentity {
  readonly #settings: DriverSettings

  constructor(settings: DriverSettings) {
    this.#settings = settings
  }

  GetPluginInfo(): Response<'GetPluginInfo'> {
    return { name: this.#settings.name, vendorVersion: this.#settings.version, manifest: {} }
  }

  GetPluginCapabilities(): Response<'GetPluginCapabilities'> {
    const { plugin, expansion } = this.#settings
    const services = plugin.map((each) => ({
      type: { $case: 'service' as const, value: { type: PluginCapability_Service_Type[each] } },
    }))
    if (expansion === undefined) return { capabilities: services }
    const value = { type: PluginCapability_VolumeExpansion_Type[expansion] }
    return { capabilities: [...services, { type: { $case: 'volumeExpansion', value } }] }
  }

  Probe(): Response<'Probe'> {
    return { ready: this.#settings.ready }
  }
}
