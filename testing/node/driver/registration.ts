import { join } from 'node:path'
import { unary } from '@csi-sidecars/csi-proto'
import {
  InfoRequest,
  PluginInfo,
  RegistrationStatus,
  RegistrationStatusResponse,
} from '@csi-sidecars/csi-proto/registration'
import { listen, type SocketListener, served } from '@csi-sidecars/emulator'

/** The service by which the kubelet reads the name of a plugin and reports whether it accepts the plugin. */
export const REGISTRATION = {
  getInfo: unary('/pluginregistration.Registration/GetInfo', { request: InfoRequest, response: PluginInfo }),
  notifyRegistrationStatus: unary('/pluginregistration.Registration/NotifyRegistrationStatus', {
    request: RegistrationStatus,
    response: RegistrationStatusResponse,
  }),
}

/**
 * Listens in the kubelet's folder of plugins, where the kubelet asks each new socket. `endpoint` is the driver's socket,
 * as the kubelet sees it. Calls `onAnswer` when the kubelet has accepted or refused the driver.
 */
export async function register(
  folder: string,
  { name, endpoint }: Pick<PluginInfo, 'name' | 'endpoint'>,
  onAnswer: (answer: RegistrationStatus) => void,
): Promise<SocketListener> {
  return await listen(join(folder, `${name}-reg.sock`), [
    served(REGISTRATION.getInfo, () => ({ type: 'CSIPlugin', name, endpoint, supportedVersions: ['1.0.0'] })),
    served(REGISTRATION.notifyRegistrationStatus, (answer) => {
      onAnswer(answer)
      return {}
    }),
  ])
}
