export { TranslationError, type TranslationErrorCode } from './rules/translation-error.ts'
export {
  csiNameFromInTreeName,
  inTreeNameFromCSIName,
  inTreePluginNameFromSpec,
  isInlineMigratable,
  isMigratableInTreePluginByName,
  isMigratedCSIDriverByName,
  isPVMigratable,
  repairVolumeHandle,
  translateCSIPVToInTree,
  translateInTreeInlineVolumeToCSI,
  translateInTreePVToCSI,
  translateInTreeStorageClassToCSI,
} from './translate.ts'
