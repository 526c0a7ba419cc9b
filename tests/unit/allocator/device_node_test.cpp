#include "allocator/device_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace blastoff::allocator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<int> members(const NodeSet& set) {
  std::vector<int> nodes;
  for (int node = 0; node < NodeSet::capacity; ++node)
    if (set.has(node)) nodes.push_back(node);
  return nodes;
}

TEST(NodeSetTest, ReadsWhatSysfsPrints) {
  EXPECT_THAT(members(NodeSet::parse("0\n")), ElementsAre(0));
  EXPECT_THAT(members(NodeSet::parse("0-2,8\n")), ElementsAre(0, 1, 2, 8));
  EXPECT_THAT(members(NodeSet::parse("1,1022-1023")), ElementsAre(1, 1022, 1023));
  EXPECT_THAT(members(NodeSet::parse("\n")), IsEmpty());
  EXPECT_THAT(members(NodeSet::parse("")), IsEmpty());
}

TEST(NodeSetTest, SurvivesWhatSysfsNeverPrints) {
  EXPECT_THAT(members(NodeSet::parse("5-3")), IsEmpty());
  EXPECT_THAT(members(NodeSet::parse("-7")), IsEmpty());
  EXPECT_THAT(members(NodeSet::parse("1023-9999999")), ElementsAre(1023));
  EXPECT_THAT(members(NodeSet::parse("1,x,3")), ElementsAre(1));
}

TEST(NodeSetTest, CountsAndNumbersItsMembers) {
  const NodeSet set = NodeSet::parse("2,64,65");
  EXPECT_EQ(set.count(), 3);
  EXPECT_EQ(set.at(0), 2);
  EXPECT_EQ(set.at(2), 65);
  EXPECT_EQ(set.at(3), -1);
  EXPECT_FALSE(set.has(-1));
  EXPECT_FALSE(set.has(NodeSet::capacity));
}

Nodes machine(const char* memory, const char* cpus, const char* allowed) {
  return {NodeSet::parse(memory), NodeSet::parse(cpus), NodeSet::parse(allowed)};
}

TEST(DeviceNodeTest, IsANodeOfMemoryWithoutCpus) {
  const DeviceNode found = find_device_node(machine("0-1", "0", "0-1"), -1, 0);
  EXPECT_EQ(found.node, 1);
  EXPECT_EQ(found.refusal, nullptr);
}

TEST(DeviceNodeTest, DevicesAreDealtRound) {
  const Nodes nodes = machine("0-3,4,12,20,28", "0-3", "0-28");
  EXPECT_EQ(find_device_node(nodes, -1, 0).node, 4);
  EXPECT_EQ(find_device_node(nodes, -1, 3).node, 28);
  EXPECT_EQ(find_device_node(nodes, -1, 5).node, 12);
}

TEST(DeviceNodeTest, AnOrdinaryMachineHasNone) {
  const DeviceNode found = find_device_node(machine("0-1", "0-1", "0-1"), -1, 0);
  EXPECT_EQ(found.node, -1);
  EXPECT_THAT(found.refusal, HasSubstr("no NUMA node"));
}

TEST(DeviceNodeTest, TheUsersChoiceCounts) {
  EXPECT_EQ(find_device_node(machine("0-1", "0-1", "0-1"), 0, 0).node, 0);
  const DeviceNode missing = find_device_node(machine("0-1", "0", "0-1"), 5, 0);
  EXPECT_EQ(missing.node, -1);
  EXPECT_THAT(missing.refusal, HasSubstr("BLASTOFF_DEVICE_NODE"));
}

TEST(DeviceNodeTest, ANodeBeyondTheCpusetIsThereButRefused) {
  const DeviceNode found = find_device_node(machine("0-1", "0", "0"), -1, 0);
  EXPECT_EQ(found.node, 1);
  EXPECT_THAT(found.refusal, HasSubstr("cpuset"));
}

TEST(DeviceNodeTest, ThisMachineHasMemoryAndCpus) {
  const Nodes nodes = read_nodes();
  EXPECT_GE(nodes.with_memory.count(), 1);
  EXPECT_GE(nodes.with_cpus.count(), 1);
  EXPECT_GE(nodes.allowed.count(), 1);
}

}  // namespace
}  // namespace blastoff::allocator
