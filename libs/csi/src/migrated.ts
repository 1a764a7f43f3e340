import { type ConnectOptions, connect } from './connect.ts'
import type { Connection } from './connection.ts'
import type { OperationMetrics } from './operation-metrics.ts'

export interface MigratedOptions extends ConnectOptions {
  readonly operations: OperationMetrics
  readonly driverName: string
}

/**
 * For a driver with an in-tree ancestor: a second connection takes the place of the first, and all calls counted from
 * now on say whether they were for a migrated volume. The driver has to be probed again.
 */
export async function connectMigrated(first: Connection, options: MigratedOptions): Promise<Connection> {
  options.operations.restartWithMigrated(options.driverName)
  const second = await connect(options)
  first.close()
  return second
}
