#include "runtime/mechanism.h"

#include <gmock/gmock.h>

namespace blastoff::runtime {
namespace {

using device::HostAccess;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MechanismChoice choose(config::PolicyName policy, config::MechanismName mechanism, HostAccess access, int node = 1,
                       bool allowed = true) {
  config::Settings settings;
  settings.policy = policy;
  settings.mechanism = mechanism;
  device::Properties device;
  device.host_access = access;
  device.memory_node = node;
  return choose_mechanism(settings, device, allowed);
}

constexpr auto accesses = {HostAccess::none, HostAccess::pageable, HostAccess::coherent, HostAccess::unified};

TEST(Mechanism, AutomaticTakesWhatTheMachineIsBestAt) {
  for (const config::PolicyName policy : {config::PolicyName::automatic, config::PolicyName::first_use}) {
    const auto automatic = [&](HostAccess access) { return choose(policy, config::MechanismName::automatic, access); };
    EXPECT_EQ(automatic(HostAccess::none).mechanism, Mechanism::mirrors);
    EXPECT_EQ(automatic(HostAccess::pageable).mechanism, Mechanism::mirrors) << "HMM only when asked for";
    EXPECT_EQ(automatic(HostAccess::coherent).mechanism, Mechanism::moves);
    EXPECT_EQ(automatic(HostAccess::unified).mechanism, Mechanism::in_place);
    EXPECT_THAT(automatic(HostAccess::coherent).reason, IsEmpty());
    EXPECT_THAT(automatic(HostAccess::none).reason, IsEmpty());
    EXPECT_THAT(automatic(HostAccess::unified).reason, HasSubstr("one memory"));
  }
}

TEST(Mechanism, CopyIsCopyEverywhere) {
  for (const HostAccess access : accesses)
    EXPECT_EQ(choose(config::PolicyName::copy, config::MechanismName::moves, access).mechanism, Mechanism::copies);
}

TEST(Mechanism, CoherentNeedsADeviceThatReadsTheProgramsMemory) {
  for (const HostAccess access : accesses) {
    const MechanismChoice choice = choose(config::PolicyName::coherent, config::MechanismName::automatic, access);
    if (access == HostAccess::none) {
      EXPECT_EQ(choice.mechanism, Mechanism::mirrors);
      EXPECT_THAT(choice.reason, HasSubstr("cannot read the program's own memory"));
    } else {
      EXPECT_EQ(choice.mechanism, Mechanism::in_place);
      EXPECT_THAT(choice.reason, IsEmpty());
    }
  }
}

TEST(Mechanism, WhatIsAskedForIsTakenWhereItCanBe) {
  const auto first_use = [](config::MechanismName name, HostAccess access) {
    return choose(config::PolicyName::first_use, name, access);
  };
  for (const HostAccess access : accesses)
    EXPECT_EQ(first_use(config::MechanismName::mirrors, access).mechanism, Mechanism::mirrors);
  EXPECT_EQ(first_use(config::MechanismName::moves, HostAccess::coherent).mechanism, Mechanism::moves);
  EXPECT_EQ(first_use(config::MechanismName::prefetch, HostAccess::coherent).mechanism, Mechanism::prefetch);
  EXPECT_EQ(first_use(config::MechanismName::prefetch, HostAccess::pageable).mechanism, Mechanism::prefetch);
  for (const HostAccess access : {HostAccess::none, HostAccess::pageable, HostAccess::unified}) {
    const MechanismChoice choice = first_use(config::MechanismName::moves, access);
    EXPECT_EQ(choice.mechanism, Mechanism::mirrors);
    EXPECT_THAT(choice.reason, HasSubstr("not a NUMA node"));
  }
  EXPECT_THAT(first_use(config::MechanismName::prefetch, HostAccess::none).reason, HasSubstr("no HMM"));
}

TEST(Mechanism, WhereTheDevicesMemoryIsNoNodeMatricesHaveMirrorsThere) {
  const auto hidden = choose(config::PolicyName::automatic, config::MechanismName::automatic, HostAccess::coherent, -1);
  EXPECT_EQ(hidden.mechanism, Mechanism::mirrors);
  EXPECT_THAT(hidden.reason, IsEmpty());
  const auto moves = choose(config::PolicyName::first_use, config::MechanismName::moves, HostAccess::coherent, -1);
  EXPECT_EQ(moves.mechanism, Mechanism::mirrors);
  EXPECT_THAT(moves.reason, HasSubstr("--device-node"));
}

TEST(Mechanism, WhatReadsTheProgramsMemoryNeedsNoCopiesInsteadOfMirrors) {
  config::Settings settings;
  device::Properties device;
  EXPECT_EQ(without_mirrors(settings, device), Mechanism::copies);
  device.host_access = HostAccess::coherent;
  EXPECT_EQ(without_mirrors(settings, device), Mechanism::in_place);
  settings.mechanism = config::MechanismName::mirrors;
  EXPECT_EQ(without_mirrors(settings, device), Mechanism::copies);
}

TEST(Mechanism, WhereTheNodeIsNotAllowedMatricesAreUsedWhereTheyAre) {
  const auto forbidden =
      choose(config::PolicyName::automatic, config::MechanismName::automatic, HostAccess::coherent, 1, false);
  EXPECT_EQ(forbidden.mechanism, Mechanism::in_place);
  EXPECT_THAT(forbidden.reason, HasSubstr("NUMA node 1"));
  EXPECT_THAT(forbidden.reason, HasSubstr("cpuset"));
}

}  // namespace
}  // namespace blastoff::runtime
