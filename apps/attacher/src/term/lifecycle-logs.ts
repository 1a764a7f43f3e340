import type { Controller } from '@csi-sidecars/controller'
import type { Logger } from '@csi-sidecars/telemetry'

export function lifecycleLogs(log: Logger): Pick<Controller, 'onStart' | 'onEnd'> {
  return { onStart: () => log.info('Starting CSI attacher'), onEnd: () => log.info('Shutting CSI attacher') }
}
